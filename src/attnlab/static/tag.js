function d(t,e={},...r){let n=document.createElement(t);for(let[a,o]of Object.entries(e))if(a==="on")for(let[i,s]of Object.entries(o))n.addEventListener(i,s);else o===!0?n.setAttribute(a,""):o!=null&&o!==!1&&n.setAttribute(a,String(o));return n.append(...r.filter(a=>a!=null)),n}function F(t,e={},...r){let n=document.createElementNS("http://www.w3.org/2000/svg",t);for(let[a,o]of Object.entries(e))n.setAttribute(a,String(o));return n.append(...r),n}function N(t,e=2){if(t===-1/0)return"−∞";if(Math.abs(t)>=1e5)return t.toExponential(1).replace("-","−");let r=t.toFixed(e);return Number(r)===0?r.replace("-",""):r.replace("-","−")}function H({label:t,options:e,value:r,part:n,onChange:a}){let o=e.map(s=>d("button",{type:"button",role:"radio","aria-checked":s.value===r?"true":"false",tabindex:s.value===r?0:-1,"data-value":s.value,on:{click:()=>a(s.value)}},s.text)),i=d("div",{class:"attnlab-choices",role:"radiogroup","aria-label":t,"data-part":n});return i.append(...o),i.addEventListener("keydown",s=>{let l={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[s.key],f=o.findIndex($=>$===s.target);if(!l||f<0)return;s.preventDefault();let h=o[(f+l+o.length)%o.length];B(i,h.dataset.value),h.focus(),a(h.dataset.value)}),i}function B(t,e){for(let r of t.querySelectorAll("button")){let n=r.dataset.value===e;r.setAttribute("aria-checked",String(n)),r.tabIndex=n?0:-1}}function X(t,e,r="query"){let n=Math.round(52*Math.min(Math.max(e,0),1)*10)/10;t.style.backgroundColor=`color-mix(in srgb, var(--fig-${r}) ${n}%, transparent)`}var K=t=>t.replace(/[&<>"]/g,e=>`&#${e.charCodeAt(0)};`);var Q=`/* The figures carry their own colours: in Lab and Colab there is no book theme around them. */
.attnlab-figure {
  --fig-query: var(--attn-query, #0069a8);
  --fig-key: var(--attn-key, #b04a00);
  --fig-value: var(--attn-value, #00795a);
  --fig-output: var(--attn-output, #a0307a);
  --fig-ink: #1b1f24;
  --fig-quiet: #57606a;
  --fig-line: #d5dae0;
  --fig-paper: #ffffff;
  --fig-tint: #f4f6f8;
  margin: 1.5rem 0;
  padding: 0;
  text-align: left;
}
html[data-theme="dark"] .attnlab-figure,
body[data-jp-theme-light="false"] .attnlab-figure,
body.vscode-dark .attnlab-figure {
  --fig-query: var(--attn-query, #6cb6f5);
  --fig-key: var(--attn-key, #f5a15a);
  --fig-value: var(--attn-value, #3fcf9f);
  --fig-output: var(--attn-output, #ef9acb);
  --fig-ink: #e6e9ec;
  --fig-quiet: #a7b0ba;
  --fig-line: #3b434c;
  --fig-paper: #16191d;
  --fig-tint: #20252b;
}
@media (prefers-color-scheme: dark) {
  html:not([data-theme]) body:not([data-jp-theme-light], .vscode-light) .attnlab-figure {
    --fig-query: #6cb6f5;
    --fig-key: #f5a15a;
    --fig-value: #3fcf9f;
    --fig-output: #ef9acb;
    --fig-ink: #e6e9ec;
    --fig-quiet: #a7b0ba;
    --fig-line: #3b434c;
    --fig-paper: #16191d;
    --fig-tint: #20252b;
  }
}
.attnlab-root {
  container-type: inline-size;
  box-sizing: border-box;
  padding: 1rem;
  border: 1px solid var(--fig-line);
  border-radius: 10px;
  background: var(--fig-paper);
  color: var(--fig-ink);
  font: 16px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
.attnlab-root *,
.attnlab-root *::before {
  box-sizing: border-box;
}
.attnlab-root p {
  margin: 0.6rem 0 0;
}
.attnlab-root button,
.attnlab-root input,
.attnlab-root select,
.attnlab-root textarea {
  font: inherit;
  color: inherit;
}
.attnlab-root button {
  min-height: 32px;
  min-width: 32px;
  padding: 0.2rem 0.65rem;
  border: 1px solid var(--fig-line);
  border-radius: 7px;
  background: var(--fig-paper);
  cursor: pointer;
}
.attnlab-root button:hover {
  background: var(--fig-tint);
}
.attnlab-root :focus-visible {
  outline: 3px solid var(--fig-query);
  outline-offset: 1px;
}
.attnlab-root textarea,
.attnlab-root input[type="text"] {
  width: 100%;
  padding: 0.5rem 0.7rem;
  border: 1px solid var(--fig-quiet);
  border-radius: 7px;
  background: var(--fig-paper);
}
.attnlab-copied {
  margin-top: 0.6rem;
  font: 13px/1.4 ui-monospace, Menlo, Consolas, monospace !important;
}
.attnlab-bar {
  display: flex;
  flex-wrap: wrap;
  gap: 0.4rem;
  margin-top: 0.8rem;
  padding-top: 0.8rem;
  border-top: 1px solid var(--fig-line);
  font-size: 0.875rem;
}
.attnlab-status {
  min-height: 1.45em;
  color: var(--fig-quiet);
  font-size: 0.9375rem;
}
.attnlab-error {
  padding: 0.6rem 0.8rem;
  border-left: 4px solid var(--fig-key);
  background: var(--fig-tint);
}
.attnlab-error[hidden] {
  display: none;
}
.attnlab-choices {
  display: flex;
  flex-wrap: wrap;
  gap: 0.3rem;
}
.attnlab-choices button[aria-checked="true"] {
  border-color: var(--fig-query);
  background: var(--fig-query);
  color: var(--fig-paper);
}
.attnlab-row {
  display: flex;
  flex-wrap: wrap;
  gap: 0.4rem 0.8rem;
  align-items: center;
  margin-top: 0.7rem;
}
.attnlab-label {
  color: var(--fig-quiet);
  font-size: 0.875rem;
}
.attnlab-scroll {
  overflow-x: auto;
  max-width: 100%;
}
/* Tables: of numbers, so the digits stand under one another. */
.attnlab-root table {
  width: auto;
  margin: 0;
  border-collapse: collapse;
  font-variant-numeric: tabular-nums;
  font-size: 0.9375rem;
  display: table;
}
.attnlab-root caption {
  caption-side: top;
  padding: 0 0 0.25rem;
  color: var(--fig-ink);
  text-align: left;
  font-weight: 600;
  font-size: 0.875rem;
}
.attnlab-root th,
.attnlab-root td {
  padding: 0.25rem 0.5rem;
  border: 1px solid var(--fig-line);
  background: none;
  text-align: right;
  font-weight: 400;
  color: var(--fig-ink);
}
.attnlab-root thead th,
.attnlab-root tbody th {
  color: var(--fig-quiet);
  border-color: transparent;
}
.attnlab-root tbody tr,
.attnlab-root thead {
  background: none;
}
.attnlab-root details {
  margin-top: 0.8rem;
}
.attnlab-root summary {
  min-height: 28px;
  cursor: pointer;
  color: var(--fig-quiet);
  font-size: 0.875rem;
}
/* tag a sentence */
.attnlab-tokens {
  position: relative;
  display: flex;
  flex-wrap: wrap;
  gap: 0.4rem;
  margin-top: 0.8rem;
}
.attnlab-tokens.has-arcs {
  padding-top: 84px;
}
.attnlab-arcs {
  position: absolute;
  inset: 0 0 auto 0;
  width: 100%;
  height: 84px;
  overflow: visible;
  pointer-events: none;
}
.attnlab-root .attnlab-token {
  display: grid;
  justify-items: center;
  min-width: 3.6rem;
  max-width: 100%;
  padding: 0.35rem 0.6rem;
  border-width: 2px;
  overflow-wrap: anywhere;
}
.attnlab-token b {
  font-size: 1.125rem;
  font-weight: 500;
}
.attnlab-token span {
  color: var(--fig-ink);
  font-size: 0.8125rem;
  letter-spacing: 0.02em;
}
.attnlab-token i {
  font-style: normal;
  font-size: 0.8125rem;
  font-variant-numeric: tabular-nums;
  color: var(--fig-ink);
}
.attnlab-token[aria-checked="true"] {
  border-color: var(--fig-query) !important;
  box-shadow: 0 0 0 1px var(--fig-query);
}
.attnlab-note {
  color: var(--fig-quiet);
  font-size: 0.8125rem;
}
/* calculator */
.attnlab-mats {
  display: flex;
  flex-wrap: wrap;
  gap: 0.9rem 1.4rem;
  align-items: flex-start;
  margin-top: 0.9rem;
}
.attnlab-mats > div {
  max-width: 100%;
}
.attnlab-root td.attnlab-cell {
  padding: 0;
}
.attnlab-root td.attnlab-cell button,
.attnlab-root td.attnlab-cell input {
  width: 3.9rem;
  min-height: 30px;
  padding: 0.15rem 0.4rem;
  border: 0;
  border-radius: 0;
  background: transparent;
  white-space: nowrap;
  text-align: right;
  font-variant-numeric: tabular-nums;
}
@container (max-width: 420px) {
  .attnlab-root td.attnlab-cell button,
  .attnlab-root td.attnlab-cell input {
    width: 3rem;
    padding-inline: 0.2rem;
    font-size: 0.875rem;
  }
  .attnlab-root th {
    padding-inline: 0.25rem;
  }
}
.attnlab-root td.attnlab-cell input {
  background: var(--fig-tint);
}
.attnlab-root td.attnlab-cell input[aria-invalid="true"] {
  outline: 3px solid var(--fig-key);
}
.attnlab-root td.attnlab-cell.is-source {
  box-shadow: inset 0 0 0 2px var(--fig-key);
}
.attnlab-root td.attnlab-cell.is-focus {
  box-shadow: inset 0 0 0 3px var(--fig-query);
}
.attnlab-root caption.is-query {
  color: var(--fig-query);
}
.attnlab-root caption.is-key {
  color: var(--fig-key);
}
.attnlab-root caption.is-value {
  color: var(--fig-value);
}
.attnlab-root caption.is-output {
  color: var(--fig-output);
}
.attnlab-formula {
  padding: 0.6rem 0.8rem;
  border-radius: 7px;
  background: var(--fig-tint);
  font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere;
}
@media (prefers-reduced-motion: no-preference) {
  .attnlab-root button,
  .attnlab-root td {
    transition: background-color 120ms ease-out;
  }
}
@media (forced-colors: active) {
  .attnlab-choices button[aria-checked="true"],
  .attnlab-token[aria-checked="true"] {
    outline: 3px solid Highlight;
  }
}
@media print {
  .attnlab-bar,
  .attnlab-examples,
  .attnlab-copied {
    display: none !important;
  }
  .attnlab-root {
    break-inside: avoid;
  }
}
`;function Y(t){return{name:t.name,keys:t.keys,async render({model:e,el:r,signal:n,place:a={}}){let o=new AbortController;n?.addEventListener("abort",()=>o.abort()),pt(r);let i=Object.fromEntries(t.keys.map(u=>[u,structuredClone(e.get(u))])),s=d("div",{class:"attnlab-body"}),l=d("p",{class:"attnlab-status",role:"status","data-part":"status"}),f=d("p",{class:"attnlab-error",role:"alert","data-part":"error",hidden:!0}),h=d("div",{class:"attnlab-bar",role:"group","aria-label":`${t.title}: actions`}),$=d("div",{class:"attnlab-root","data-lm-suppress-shortcuts":"true","data-figure":t.name},s,f,l,h);r.replaceChildren($);let q,_=u=>{try{u(),f.hidden=!0}catch(b){console.warn("attnlab figure:",b),f.textContent=`This figure could not be drawn: ${b instanceof Error?b.message:b}`,f.hidden=!1}},v=()=>_(()=>q?.update()),m=u=>{for(let[b,j]of Object.entries(u))e.set(b,j);e.save_changes(),v()},y=u=>{l.textContent!==u&&(l.textContent=u)};try{q=await t.setup({model:e,body:s,say:y,set:m,signal:o.signal,place:a})}catch(u){return _(()=>{throw u}),()=>o.abort()}let S=()=>Object.fromEntries(t.keys.map(u=>[u,e.get(u)]));h.append(L("Reset","reset",()=>(m(structuredClone(i)),"Reset.")),a.link?L("Copy link","link",()=>C(a.link(S()))):"",L("Copy as PyTorch","pytorch",()=>C(q.pytorch())),L("Save SVG","svg",()=>ft(q.svg(),`attnlab-${t.name}.svg`))),v();for(let u of t.keys)e.on(`change:${u}`,v),o.signal.addEventListener("abort",()=>e.off?.(`change:${u}`,v));return()=>o.abort();function L(u,b,j){let O=d("button",{type:"button","data-part":b},u);return O.addEventListener("click",async()=>{try{y(await j())}catch(w){y(`That did not work: ${w instanceof Error?w.message:w}`)}}),O}async function C(u){$.querySelector(".attnlab-copied")?.remove();try{return await navigator.clipboard.writeText(u),"Copied."}catch{let b=d("textarea",{class:"attnlab-copied",readonly:!0,rows:Math.min(u.split(`
`).length,12),"aria-label":"Text to copy","data-part":"copied"});return b.value=u,h.after(b),b.focus(),b.select(),"The text is selected below: copy it with your keyboard."}}}}}function ft(t,e){let r=URL.createObjectURL(new Blob([t],{type:"image/svg+xml"}));return d("a",{href:r,download:e}).click(),setTimeout(()=>URL.revokeObjectURL(r),1e4),`Saved ${e}.`}function pt(t){t.classList.add("attnlab-figure");let e=t.getRootNode(),r=e instanceof Document?e.head:e instanceof ShadowRoot?e:t;if(r.querySelector?.("style[data-attnlab]"))return;let n=d("style",{"data-attnlab":!0});n.textContent=Q,r.append(n)}function P(t){let e=Math.max(...t);if(e===-1/0)return t.map(()=>0);let r=t.map(a=>Math.exp(a-e)),n=r.reduce((a,o)=>a+o,0);return r.map(a=>a/n)}function tt(t,e,r){let n=t.length,a=0;for(let s=0;s<n;s++)a+=t[s]/n;let o=0;for(let s=0;s<n;s++)o+=(t[s]-a)**2/n;let i=Math.sqrt(o+1e-5);return Array.from({length:n},(s,l)=>(t[l]-a)/i*e[l]+r[l])}function et(t,e,r=1e4){let n=t.slice();for(let a=0;a<t.length;a+=2){let o=e*r**(-a/t.length),[i,s]=[Math.cos(o),Math.sin(o)];n[a]=t[a]*i-t[a+1]*s,n[a+1]=t[a]*s+t[a+1]*i}return n}var rt=["n't","'s","'m","'re","'ve","'ll","'d"],at=new Set(`mr. mrs. ms. dr. prof. st. jr. sr. vs. etc. inc. co. corp. ltd. gen. rep. sen. gov. lt. col. no. ph.d. fig.
al. jan. feb. mar. apr. jun. jul. aug. sep. sept. oct. nov. dec. ave. blvd. rd. approx. dept. est.`.split(/\s+/)),gt=/^(?:(?:[A-Za-z][A-Za-z0-9+.-]*:\/\/|[Ww][Ww][Ww]\.)[^ ]|[^@]+@[^@.]+\.[^@])/u,bt=/^(?:[A-Za-z]\.)+[A-Za-z]?\.?$/,ht=t=>/^[\p{Z}\p{Cc}]$/u.test(t),R=t=>/^[\p{L}\p{M}\p{N}_]$/u.test(t),Z=t=>/^\p{N}$/u.test(t),mt=t=>/^[\p{M}\p{Cf}\p{Sk}]$/u.test(t)&&t.codePointAt(0)>127,yt=t=>t.replaceAll("’","'").toLowerCase();function J(t){let e=Array.from(t,a=>/^[\ud800-\udfff]$/.test(a)?"�":a),r=[],n="";for(let a of[...e," "])ht(a)?n&&(r.push(...vt(n)),n=""):n+=a;return r}function ot(t){let e=Array.from(t.toLowerCase()),r="",n="",a=0;for(let o of t){let i=xt(o);a=i===n?a+1:1,n=i,a<=2&&(r+=i)}return[`w=${e.join("")}`,...[1,2,3].map(o=>`p${o}=${e.slice(0,o).join("")}`),...[1,2,3,4].map(o=>`s${o}=${e.slice(-o).join("")}`),`shape=${Array.from(r).slice(0,8).join("")}`]}function st(t,e,r){let n=(2166136261^e)>>>0;for(let a of new TextEncoder().encode(t))n=Math.imul(n^a,16777619)>>>0;return n%r}function xt(t){return/^[\p{Lu}\p{Lt}]$/u.test(t)?"X":/^\p{L}$/u.test(t)?"x":Z(t)?"d":t}function vt(t){let[e,...r]=wt(t),[n,a]=r,o=n+a;return at.has(o.toLowerCase())||bt.test(o)&&o.slice(0,-1).includes(".")?[n,a]=[o,""]:a.startsWith(".")&&at.has(`${n}.`.toLowerCase())&&([n,a]=[`${n}.`,a.slice(1)]),[...nt(e),...gt.test(n)?[n]:kt(n),...nt(a)]}function wt(t){if(rt.includes(yt(t)))return["",t,""];let e=Array.from(t),r=e.findIndex(R);if(r<0)return[t,"",""];let n=e.findLastIndex(R)+1;return[e.slice(0,r),e.slice(r,n),e.slice(n)].map(a=>a.join(""))}function nt(t){let e=[];for(let r of t){let n=e.length?Array.from(e[e.length-1]).at(-1):"";n&&(r===n||mt(r)||n==="‍")?e[e.length-1]+=r:e.push(r)}return e}function kt(t){if(!t)return[];let e=Array.from(t),r=[],n=0;for(let o=1;o<e.length-1;o++)!R(e[o])&&!$t(e,o)&&(r.push(e.slice(n,o).join(""),e[o]),n=o+1);r.push(e.slice(n).join(""));let a=[];for(let o of r.filter(Boolean)){let i=Array.from(o),s=a.length?Array.from(a[a.length-1]).at(-1):"";i.length===1&&!R(o)&&o===s?a[a.length-1]+=o:a.push(...At(o))}return a}function $t(t,e){let[r,n,a]=[t[e-1],t[e],t[e+1]];return!R(r)||!R(a)?!1:".,:".includes(n)?Z(r)&&Z(a)||n===".":"'’&".includes(n)}function At(t){let e=Array.from(t),r=Array.from(t.toLowerCase().replaceAll("’","'"));if(r.length!==e.length)return[t];let n=r.join("");if(n==="cannot")return[t.slice(0,3),t.slice(3)];for(let a of rt)if(n.endsWith(a)&&r.length>a.length){let o=e.length-a.length;return[e.slice(0,o).join(""),e.slice(o).join("")]}return[t]}function V(t){let e=new DataView(t.buffer,t.byteOffset,t.byteLength),r=Number(e.getBigUint64(0,!0)),n=JSON.parse(new TextDecoder().decode(t.subarray(8,8+r))),a={};for(let[i,{dtype:s,shape:l,data_offsets:f}]of Object.entries(n)){if(i==="__metadata__")continue;let[h,$]=f.map(v=>v+8+r),q=new Uint8Array(t.subarray(h,$)),_=s==="F32"?new Float32Array(q.buffer):s==="I8"?new Int8Array(q.buffer):q;a[i]={shape:l,dtype:s,data:Float64Array.from(_)}}let o={};for(let[i,s]of Object.entries(a))if(!i.endsWith(".scale"))if(!i.endsWith(".q"))o[i]=s;else{let l=i.slice(0,-2),f=a[`${l}.scale`].data;o[l]=s.dtype==="U8"?qt(s,f):Mt(s,f)}return{card:JSON.parse(n.__metadata__.card),tensors:o}}function qt({shape:[t,e],data:r},n){let a=2*e,o=new Float64Array(t*a);for(let i=0;i<t;i++)for(let s=0;s<e;s++){let l=r[i*e+s];o[i*a+s]=Math.fround(((l&15)-8)*n[s]),o[i*a+e+s]=Math.fround(((l>>4)-8)*n[e+s])}return{shape:[t,a],data:o}}function Mt({shape:t,data:e},r){return{shape:t,data:e.map((n,a)=>Math.fround(n*r[Math.floor(a/t[1])]))}}function lt({card:t,tensors:e},r){let{n_buckets:n,d_model:a,n_heads:o,n_layers:i,seeds:s}=t.form,l=e["table.weight"].data,f=r.map(m=>{let y=new Array(a).fill(0);for(let S of ot(m))for(let L of s){let C=st(S,L,n)*a;for(let u=0;u<a;u++)y[u]+=l[C+u]}return y}),h=(m,y)=>{let{shape:S,data:L}=e[`${y}.weight`],C=Array.from(e[`${y}.bias`].data);for(let u=0;u<S[0];u++)for(let b=0;b<S[1];b++)C[u]+=L[u*S[1]+b]*m[b];return C},$=(m,y)=>tt(m,e[`${y}.weight`].data,e[`${y}.bias`].data),q=[];for(let m=0;m<i;m++){let y=`layers.${m}`,S=f.map(w=>$(w,`${y}.norm`)),[L,C,u]=["q","k","v"].map(w=>S.map(E=>h(E,`${y}.attention.${w}_proj`))),b=L.length?L[0].length/o:0,j=[],O=r.map(()=>[]);for(let w=0;w<o;w++){let E=x=>x.slice(w*b,(w+1)*b),c=[L,C].map(x=>x.map((k,p)=>et(E(k),p))),g=c[0].map(x=>P(c[1].map(k=>x.reduce((p,T,A)=>p+T*k[A],0)/Math.sqrt(b))));j.push(g),g.forEach((x,k)=>{for(let p=0;p<b;p++)O[k].push(x.reduce((T,A,M)=>T+A*u[M][w*b+p],0))})}q.push(j),f=f.map((w,E)=>it(w,h(O[E],`${y}.attention.out_proj`))),f=f.map(w=>{let E=h($(w,`${y}.norm2`),`${y}.up`).map(c=>Math.max(c,0));return it(w,h(E,`${y}.down`))})}let _=f.map(m=>P(h($(m,"norm"),"out"))),v=_.map(m=>t.tags[m.indexOf(Math.max(...m))]);return{tokens:r,tags:v,probabilities:_,weights:q}}var it=(t,e)=>t.map((r,n)=>r+e[n]);var W=128,ct=["I saw a saw","What do you do?","There were many hotels there.","Can you open the can?"];function G(t,e){let r=t.flat(),[n,a]=e.split(".").map(Number),o=t[n-1]?.[a-1];if(o)return o;let i=r[0]?.length??0;return Array.from({length:i},(s,l)=>Array.from({length:i},(f,h)=>r.reduce(($,q)=>$+q[l][h],0)/r.length))}async function Lt(t,e){let r=t.get("model");if(r?.byteLength)return V(new Uint8Array(r.buffer??r,r.byteOffset??0,r.byteLength));let n=()=>globalThis.attnlabModels?.tagger;return n()||await new Promise((a,o)=>{let i=document.createElement("script");i.src=new URL("models/tagger-model.js",e??document.baseURI).href,i.onload=a,i.onerror=()=>o(new Error("its weights (models/tagger-model.js) did not load. Reload the page.")),document.head.append(i)}),V(Uint8Array.from(atob(n()),a=>a.charCodeAt(0)))}var Pt=Y({name:"tag",title:"Tag a sentence",keys:["sentence","word","head"],async setup({model:t,body:e,say:r,set:n,signal:a,place:o}){let i=await Lt(t,o.base),{card:s}=i,l,f="",h=0,$=d("input",{type:"text","aria-label":"A sentence to tag","data-part":"sentence",autocomplete:"off",spellcheck:"false",dir:"auto",on:{input:()=>n({sentence:$.value,word:-1})}}),q=d("div",{class:"attnlab-row attnlab-examples"},d("span",{class:"attnlab-label"},"Try"));for(let c of ct){let g=()=>n({sentence:c,word:c===ct[0]?3:-1});q.append(d("button",{type:"button","data-part":"example",on:{click:g}},c))}let _=H({label:"Which attention head",part:"heads",value:t.get("head"),options:[{value:"mean",text:"all heads"},...Array.from({length:s.form.n_layers*s.form.n_heads},(c,g)=>{let[x,k]=[Math.floor(g/s.form.n_heads)+1,g%s.form.n_heads+1],p=s.form.n_layers>1?`${x}.${k}`:String(k);return{value:`${x}.${k}`,text:p}})],onChange:c=>n({head:c})}),v=d("div",{class:"attnlab-tokens",role:"radiogroup","aria-label":"The words, each with its tag",on:{keydown:u}}),m=d("p",{"data-part":"alternatives"}),y=d("tbody"),S=d("table",{"data-part":"numbers"},d("caption",{},"Every number"),d("thead",{},d("tr",{},...["word","tag","probability","weight"].map(c=>d("th",{scope:"col"},c)))),y),L=s.form.n_layers>1?" (layer.head; layers look one after the other)":"";e.append($,q,d("div",{class:"attnlab-row"},d("span",{class:"attnlab-label"},`Attention of${L}`),_),v,m,d("details",{},d("summary",{},"The numbers as a table"),d("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Table of numbers"},S)),d("p",{class:"attnlab-note","data-part":"card"},`Trained on ${s.data} (${s.licence}); ${s.accuracy.test} % of its test words come out right. It knows no more English than that.`));let C=new ResizeObserver(()=>E());C.observe(v),a.addEventListener("abort",()=>C.disconnect());function u(c){let g={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[c.key],x=l.tokens.length;!g||!x||(c.preventDefault(),n({word:(Math.max(t.get("word"),0)+g+x)%x}),v.querySelector('[tabindex="0"]')?.focus())}function b(){let c=String(t.get("sentence")??"");if(l&&c===f)return;f=c;let g=J(c);h=Math.max(g.length-W,0),l=lt(i,g.slice(0,W))}let j=()=>{let c=Number(t.get("word")??-1);return c>=0&&c<l.tokens.length?c:-1};function O(){b(),$.value!==f&&($.value=f),B(_,t.get("head"));let c=j(),g=c<0?[]:G(l.weights,t.get("head"))[c],x=v.contains(document.activeElement);v.replaceChildren(...l.tokens.map((k,p)=>{let T=Math.max(...l.probabilities[p]),A=d("button",{type:"button",class:"attnlab-token",role:"radio","aria-checked":p===c?"true":"false",tabindex:p===Math.max(c,0)?0:-1,"data-part":"token",on:{click:()=>n({word:p})}},d("b",{dir:"auto"},k),d("span",{},l.tags[p]),d("i",{},c<0?`${N(100*T,0)} %`:`gives ${N(100*g[p],0)} %`));return c>=0&&X(A,g[p]),A})),x&&v.querySelector('[tabindex="0"]')?.focus(),y.replaceChildren(...l.tokens.map((k,p)=>d("tr",{},d("th",{scope:"row",dir:"auto"},k),d("td",{},l.tags[p]),d("td",{},Math.max(...l.probabilities[p]).toFixed(4)),d("td",{},c<0?"–":g[p].toFixed(4))))),w(c,g),E()}function w(c,g){if(!l.tokens.length){m.textContent="",r("Type a sentence: there is nothing to tag yet.");return}let x=h?` Only the first ${W} of ${W+h} words are shown.`:"";if(c<0){m.textContent="Pick a word to see where the tagger looked.",r(l.tokens.map((A,M)=>`${A} ${l.tags[M]}`).join(", ")+"."+x);return}let k=l.probabilities[c].map((A,M)=>({p:A,tag:s.tags[M]})).sort((A,M)=>M.p-A.p).slice(0,3);m.textContent=k.map(({p:A,tag:M})=>`${M} ${N(100*A,1)} %`).join(" · ");let p=g.indexOf(Math.max(...g)),T=p===c?"itself":`“${l.tokens[p]}” (word ${p+1})`;r(`“${l.tokens[c]}” (word ${c+1}) is ${l.tags[c]}. It takes most from ${T}: ${N(100*g[p],0)} %.${x}`)}function E(){v.querySelector("svg")?.remove();let c=j(),g=[...v.querySelectorAll(".attnlab-token")],x=g.length>1&&g.every(M=>M.offsetTop===g[0].offsetTop),k=c>=0&&x&&v.clientWidth>480;if(v.classList.toggle("has-arcs",k),!k)return;let p=G(l.weights,t.get("head"))[c],T=F("svg",{class:"attnlab-arcs","aria-hidden":"true","data-part":"arcs"}),A=g.map(M=>M.offsetLeft+M.offsetWidth/2);g.forEach((M,I)=>{if(p[I]<.02)return;let[z,D]=[A[c],A[I]],U=I===c?26:Math.min(24+Math.abs(D-z)*.16,76),dt=I===c?`M ${z-9} 82 C ${z-22} ${82-U*1.4}, ${z+22} ${82-U*1.4}, ${z+9} 82`:`M ${z} 82 C ${z} ${82-U}, ${D} ${82-U}, ${D} 82`;T.append(F("path",{d:dt,fill:"none",stroke:"var(--fig-query)","stroke-width":(1+9*p[I]).toFixed(2),"stroke-opacity":(.25+.7*p[I]).toFixed(2),"stroke-linecap":"round"}))}),v.prepend(T)}return{update:O,pytorch:()=>Ct(f,j(),t.get("head")),svg:()=>St(l,j(),t.get("head"))}}});function Ct(t,e,r){let[n,a]=r.split(".").map(Number),o=r==="mean"?"tagged.weights.mean((0, 1))":`tagged.weights[${n-1}, ${a-1}]`,i=e<0?"":`weights = ${o}[${e}]  # how much word ${e} takes of each word
`;return`from attnlab.tagging import shipped

tagged = shipped.load().tag(${JSON.stringify(t)})
${i}for i, (token, tag) in enumerate(zip(tagged.tokens, tagged.tags)):
    print(token, tag, round(tagged.probabilities[i].max().item(), 4)${e<0?"":", round(weights[i].item(), 4)"})
`}function St(t,e,r){let n=e<0?[]:G(t.weights,r)[e],a=110,o=t.tokens.map((s,l)=>{let f=10+l*a,h=n[l]??0;return`<rect x="${f}" y="10" width="${a-8}" height="76" rx="8" fill="#0069a8" fill-opacity="${(.52*h).toFixed(3)}" stroke="${l===e?"#0069a8":"#d5dae0"}" stroke-width="2"/><text x="${f+51}" y="36" font-size="18">${K(s)}</text><text x="${f+51}" y="57" font-size="13">${t.tags[l]}</text><text x="${f+51}" y="76" font-size="13">${e<0?"":`${N(100*h,0)} %`}</text>`}),i=12+t.tokens.length*a;return`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${i} 96" width="${i}" height="96" font-family="sans-serif" fill="#1b1f24" text-anchor="middle">${o.join("")}</svg>`}export{W as MOST_TOKENS,G as chosen,Pt as default};
