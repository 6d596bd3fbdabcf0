function d(t,e={},...n){let a=document.createElement(t);for(let[r,o]of Object.entries(e))if(r==="on")for(let[i,s]of Object.entries(o))a.addEventListener(i,s);else o===!0?a.setAttribute(r,""):o!=null&&o!==!1&&a.setAttribute(r,String(o));return a.append(...n.filter(r=>r!=null)),a}function F(t,e={},...n){let a=document.createElementNS("http://www.w3.org/2000/svg",t);for(let[r,o]of Object.entries(e))a.setAttribute(r,String(o));return a.append(...n),a}function N(t,e=2){if(t===-1/0)return"−∞";if(Math.abs(t)>=1e5)return t.toExponential(1).replace("-","−");let n=t.toFixed(e);return Number(n)===0?n.replace("-",""):n.replace("-","−")}function X({label:t,options:e,value:n,part:a,onChange:r}){let o=e.map(s=>d("button",{type:"button",role:"radio","aria-checked":s.value===n?"true":"false",tabindex:s.value===n?0:-1,"data-value":s.value,on:{click:()=>r(s.value)}},s.text)),i=d("div",{class:"attnlab-choices",role:"radiogroup","aria-label":t,"data-part":a});return i.append(...o),i.addEventListener("keydown",s=>{let l={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[s.key],f=o.findIndex(v=>v===s.target);if(!l||f<0)return;s.preventDefault();let b=o[(f+l+o.length)%o.length];B(i,b.dataset.value),b.focus(),r(b.dataset.value)}),i}function B(t,e){for(let n of t.querySelectorAll("button")){let a=n.dataset.value===e;n.setAttribute("aria-checked",String(a)),n.tabIndex=a?0:-1}}function H(t,e,n="query"){let a=Math.round(52*Math.min(Math.max(e,0),1)*10)/10;t.style.backgroundColor=`color-mix(in srgb, var(--fig-${n}) ${a}%, transparent)`}var K=`/* The figures carry their own colours: in Lab and Colab there is no book theme around them. */
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
`;function Q(t){return{name:t.name,keys:t.keys,async render({model:e,el:n,signal:a,place:r={}}){let o=new AbortController;a?.addEventListener("abort",()=>o.abort()),ft(n);let i=Object.fromEntries(t.keys.map(u=>[u,structuredClone(e.get(u))])),s=d("div",{class:"attnlab-body"}),l=d("p",{class:"attnlab-status",role:"status","data-part":"status"}),f=d("p",{class:"attnlab-error",role:"alert","data-part":"error",hidden:!0}),b=d("div",{class:"attnlab-bar",role:"group","aria-label":`${t.title}: actions`}),v=d("div",{class:"attnlab-root","data-lm-suppress-shortcuts":"true","data-figure":t.name},s,f,l,b);n.replaceChildren(v);let q,_=u=>{try{u(),f.hidden=!0}catch(h){console.warn("attnlab figure:",h),f.textContent=`This figure could not be drawn: ${h instanceof Error?h.message:h}`,f.hidden=!1}},w=()=>_(()=>q?.update()),m=u=>{for(let[h,C]of Object.entries(u))e.set(h,C);e.save_changes(),w()},y=u=>{l.textContent!==u&&(l.textContent=u)};try{q=await t.setup({model:e,body:s,say:y,set:m,signal:o.signal,place:r})}catch(u){return _(()=>{throw u}),()=>o.abort()}let j=()=>Object.fromEntries(t.keys.map(u=>[u,e.get(u)]));b.append(L("Reset","reset",()=>(m(structuredClone(i)),"Reset.")),r.link?L("Copy link","link",()=>S(r.link(j()))):"",L("Copy as PyTorch","pytorch",()=>S(q.pytorch())),L("Save SVG","svg",()=>ut(q.svg(),`attnlab-${t.name}.svg`))),w();for(let u of t.keys)e.on(`change:${u}`,w),o.signal.addEventListener("abort",()=>e.off?.(`change:${u}`,w));return()=>o.abort();function L(u,h,C){let z=d("button",{type:"button","data-part":h},u);return z.addEventListener("click",async()=>{try{y(await C())}catch(k){y(`That did not work: ${k instanceof Error?k.message:k}`)}}),z}async function S(u){v.querySelector(".attnlab-copied")?.remove();try{return await navigator.clipboard.writeText(u),"Copied."}catch{let h=d("textarea",{class:"attnlab-copied",readonly:!0,rows:Math.min(u.split(`
`).length,12),"aria-label":"Text to copy","data-part":"copied"});return h.value=u,b.after(h),h.focus(),h.select(),"The text is selected below: copy it with your keyboard."}}}}}function ut(t,e){let n=URL.createObjectURL(new Blob([t],{type:"image/svg+xml"}));return d("a",{href:n,download:e}).click(),setTimeout(()=>URL.revokeObjectURL(n),1e4),`Saved ${e}.`}function ft(t){t.classList.add("attnlab-figure");let e=t.getRootNode(),n=e instanceof Document?e.head:e instanceof ShadowRoot?e:t;if(n.querySelector?.("style[data-attnlab]"))return;let a=d("style",{"data-attnlab":!0});a.textContent=K,n.append(a)}function P(t){let e=Math.max(...t);if(e===-1/0)return t.map(()=>0);let n=t.map(r=>Math.exp(r-e)),a=n.reduce((r,o)=>r+o,0);return n.map(r=>r/a)}function Y(t,e,n){let a=t.length,r=0;for(let s=0;s<a;s++)r+=t[s]/a;let o=0;for(let s=0;s<a;s++)o+=(t[s]-r)**2/a;let i=Math.sqrt(o+1e-5);return Array.from({length:a},(s,l)=>(t[l]-r)/i*e[l]+n[l])}function tt(t,e){let n=t.slice();for(let a=0;a<t.length;a+=2){let r=e*1e4**(-a/t.length),[o,i]=[Math.cos(r),Math.sin(r)];n[a]=t[a]*o-t[a+1]*i,n[a+1]=t[a]*i+t[a+1]*o}return n}var nt=["n't","'s","'m","'re","'ve","'ll","'d"],et=new Set(`mr. mrs. ms. dr. prof. st. jr. sr. vs. etc. inc. co. corp. ltd. gen. rep. sen. gov. lt. col. no. ph.d. fig.
al. jan. feb. mar. apr. jun. jul. aug. sep. sept. oct. nov. dec. ave. blvd. rd. approx. dept. est.`.split(/\s+/)),pt=/^(?:(?:[A-Za-z][A-Za-z0-9+.-]*:\/\/|[Ww][Ww][Ww]\.)[^ ]|[^@]+@[^@.]+\.[^@])/u,gt=/^(?:[A-Za-z]\.)+[A-Za-z]?\.?$/,bt=t=>/^[\p{Z}\p{Cc}]$/u.test(t),R=t=>/^[\p{L}\p{M}\p{N}_]$/u.test(t),Z=t=>/^\p{N}$/u.test(t),ht=t=>/^[\p{M}\p{Cf}\p{Sk}]$/u.test(t)&&t.codePointAt(0)>127,mt=t=>t.replaceAll("’","'").toLowerCase();function J(t){let e=Array.from(t,r=>/^[\ud800-\udfff]$/.test(r)?"�":r),n=[],a="";for(let r of[...e," "])bt(r)?a&&(n.push(...xt(a)),a=""):a+=r;return n}function rt(t){let e=Array.from(t.toLowerCase()),n="",a="",r=0;for(let o of t){let i=yt(o);r=i===a?r+1:1,a=i,r<=2&&(n+=i)}return[`w=${e.join("")}`,...[1,2,3].map(o=>`p${o}=${e.slice(0,o).join("")}`),...[1,2,3,4].map(o=>`s${o}=${e.slice(-o).join("")}`),`shape=${Array.from(n).slice(0,8).join("")}`]}function ot(t,e,n){let a=(2166136261^e)>>>0;for(let r of new TextEncoder().encode(t))a=Math.imul(a^r,16777619)>>>0;return a%n}function yt(t){return/^[\p{Lu}\p{Lt}]$/u.test(t)?"X":/^\p{L}$/u.test(t)?"x":Z(t)?"d":t}function xt(t){let[e,...n]=vt(t),[a,r]=n,o=a+r;return et.has(o.toLowerCase())||gt.test(o)&&o.slice(0,-1).includes(".")?[a,r]=[o,""]:r.startsWith(".")&&et.has(`${a}.`.toLowerCase())&&([a,r]=[`${a}.`,r.slice(1)]),[...at(e),...pt.test(a)?[a]:wt(a),...at(r)]}function vt(t){if(nt.includes(mt(t)))return["",t,""];let e=Array.from(t),n=e.findIndex(R);if(n<0)return[t,"",""];let a=e.findLastIndex(R)+1;return[e.slice(0,n),e.slice(n,a),e.slice(a)].map(r=>r.join(""))}function at(t){let e=[];for(let n of t){let a=e.length?Array.from(e[e.length-1]).at(-1):"";a&&(n===a||ht(n)||a==="‍")?e[e.length-1]+=n:e.push(n)}return e}function wt(t){if(!t)return[];let e=Array.from(t),n=[],a=0;for(let o=1;o<e.length-1;o++)!R(e[o])&&!kt(e,o)&&(n.push(e.slice(a,o).join(""),e[o]),a=o+1);n.push(e.slice(a).join(""));let r=[];for(let o of n.filter(Boolean)){let i=Array.from(o),s=r.length?Array.from(r[r.length-1]).at(-1):"";i.length===1&&!R(o)&&o===s?r[r.length-1]+=o:r.push(...$t(o))}return r}function kt(t,e){let[n,a,r]=[t[e-1],t[e],t[e+1]];return!R(n)||!R(r)?!1:".,:".includes(a)?Z(n)&&Z(r)||a===".":"'’&".includes(a)}function $t(t){let e=Array.from(t),n=Array.from(t.toLowerCase().replaceAll("’","'"));if(n.length!==e.length)return[t];let a=n.join("");if(a==="cannot")return[t.slice(0,3),t.slice(3)];for(let r of nt)if(a.endsWith(r)&&n.length>r.length){let o=e.length-r.length;return[e.slice(0,o).join(""),e.slice(o).join("")]}return[t]}function V(t){let e=new DataView(t.buffer,t.byteOffset,t.byteLength),n=Number(e.getBigUint64(0,!0)),a=JSON.parse(new TextDecoder().decode(t.subarray(8,8+n))),r={};for(let[i,{dtype:s,shape:l,data_offsets:f}]of Object.entries(a)){if(i==="__metadata__")continue;let[b,v]=f.map(w=>w+8+n),q=new Uint8Array(t.subarray(b,v)),_=s==="F32"?new Float32Array(q.buffer):s==="I8"?new Int8Array(q.buffer):q;r[i]={shape:l,dtype:s,data:Float64Array.from(_)}}let o={};for(let[i,s]of Object.entries(r))if(!i.endsWith(".scale"))if(!i.endsWith(".q"))o[i]=s;else{let l=i.slice(0,-2),f=r[`${l}.scale`].data;o[l]=s.dtype==="U8"?At(s,f):qt(s,f)}return{card:JSON.parse(a.__metadata__.card),tensors:o}}function At({shape:[t,e],data:n},a){let r=2*e,o=new Float64Array(t*r);for(let i=0;i<t;i++)for(let s=0;s<e;s++){let l=n[i*e+s];o[i*r+s]=Math.fround(((l&15)-8)*a[s]),o[i*r+e+s]=Math.fround(((l>>4)-8)*a[e+s])}return{shape:[t,r],data:o}}function qt({shape:t,data:e},n){return{shape:t,data:e.map((a,r)=>Math.fround(a*n[Math.floor(r/t[1])]))}}function it({card:t,tensors:e},n){let{n_buckets:a,d_model:r,n_heads:o,n_layers:i,seeds:s}=t.form,l=e["table.weight"].data,f=n.map(m=>{let y=new Array(r).fill(0);for(let j of rt(m))for(let L of s){let S=ot(j,L,a)*r;for(let u=0;u<r;u++)y[u]+=l[S+u]}return y}),b=(m,y)=>{let{shape:j,data:L}=e[`${y}.weight`],S=Array.from(e[`${y}.bias`].data);for(let u=0;u<j[0];u++)for(let h=0;h<j[1];h++)S[u]+=L[u*j[1]+h]*m[h];return S},v=(m,y)=>Y(m,e[`${y}.weight`].data,e[`${y}.bias`].data),q=[];for(let m=0;m<i;m++){let y=`layers.${m}`,j=f.map(k=>v(k,`${y}.norm`)),[L,S,u]=["q","k","v"].map(k=>j.map(T=>b(T,`${y}.attention.${k}_proj`))),h=L.length?L[0].length/o:0,C=[],z=n.map(()=>[]);for(let k=0;k<o;k++){let T=x=>x.slice(k*h,(k+1)*h),c=[L,S].map(x=>x.map(($,p)=>tt(T($),p))),g=c[0].map(x=>P(c[1].map($=>x.reduce((p,E,A)=>p+E*$[A],0)/Math.sqrt(h))));C.push(g),g.forEach((x,$)=>{for(let p=0;p<h;p++)z[$].push(x.reduce((E,A,M)=>E+A*u[M][k*h+p],0))})}q.push(C),f=f.map((k,T)=>st(k,b(z[T],`${y}.attention.out_proj`))),f=f.map(k=>{let T=b(v(k,`${y}.norm2`),`${y}.up`).map(c=>Math.max(c,0));return st(k,b(T,`${y}.down`))})}let _=f.map(m=>P(b(v(m,"norm"),"out"))),w=_.map(m=>t.tags[m.indexOf(Math.max(...m))]);return{tokens:n,tags:w,probabilities:_,weights:q}}var st=(t,e)=>t.map((n,a)=>n+e[a]);var W=128,lt=["I saw a saw","What do you do?","There were many hotels there.","Can you open the can?"];function G(t,e){let n=t.flat(),[a,r]=e.split(".").map(Number),o=t[a-1]?.[r-1];if(o)return o;let i=n[0]?.length??0;return Array.from({length:i},(s,l)=>Array.from({length:i},(f,b)=>n.reduce((v,q)=>v+q[l][b],0)/n.length))}async function Mt(t,e){let n=t.get("model");if(n?.byteLength)return V(new Uint8Array(n.buffer??n,n.byteOffset??0,n.byteLength));let a=()=>globalThis.attnlabModels?.tagger;return a()||await new Promise((r,o)=>{let i=document.createElement("script");i.src=new URL("models/tagger-model.js",e??document.baseURI).href,i.onload=r,i.onerror=()=>o(new Error("its weights (models/tagger-model.js) did not load. Reload the page.")),document.head.append(i)}),V(Uint8Array.from(atob(a()),r=>r.charCodeAt(0)))}var Bt=Q({name:"tag",title:"Tag a sentence",keys:["sentence","word","head"],async setup({model:t,body:e,say:n,set:a,signal:r,place:o}){let i=await Mt(t,o.base),{card:s}=i,l,f="",b=0,v=d("input",{type:"text","aria-label":"A sentence to tag","data-part":"sentence",autocomplete:"off",spellcheck:"false",dir:"auto",on:{input:()=>a({sentence:v.value,word:-1})}}),q=d("div",{class:"attnlab-row attnlab-examples"},d("span",{class:"attnlab-label"},"Try"));for(let c of lt){let g=()=>a({sentence:c,word:c===lt[0]?3:-1});q.append(d("button",{type:"button","data-part":"example",on:{click:g}},c))}let _=X({label:"Which attention head",part:"heads",value:t.get("head"),options:[{value:"mean",text:"all heads"},...Array.from({length:s.form.n_layers*s.form.n_heads},(c,g)=>{let[x,$]=[Math.floor(g/s.form.n_heads)+1,g%s.form.n_heads+1],p=s.form.n_layers>1?`${x}.${$}`:String($);return{value:`${x}.${$}`,text:p}})],onChange:c=>a({head:c})}),w=d("div",{class:"attnlab-tokens",role:"radiogroup","aria-label":"The words, each with its tag",on:{keydown:u}}),m=d("p",{"data-part":"alternatives"}),y=d("tbody"),j=d("table",{"data-part":"numbers"},d("caption",{},"Every number"),d("thead",{},d("tr",{},...["word","tag","probability","weight"].map(c=>d("th",{scope:"col"},c)))),y),L=s.form.n_layers>1?" (layer.head; layers look one after the other)":"";e.append(v,q,d("div",{class:"attnlab-row"},d("span",{class:"attnlab-label"},`Attention of${L}`),_),w,m,d("details",{},d("summary",{},"The numbers as a table"),d("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Table of numbers"},j)),d("p",{class:"attnlab-note","data-part":"card"},`Trained on ${s.data} (${s.licence}); ${s.accuracy.test} % of its test words come out right. It knows no more English than that.`));let S=new ResizeObserver(()=>T());S.observe(w),r.addEventListener("abort",()=>S.disconnect());function u(c){let g={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[c.key],x=l.tokens.length;!g||!x||(c.preventDefault(),a({word:(Math.max(t.get("word"),0)+g+x)%x}),w.querySelector('[tabindex="0"]')?.focus())}function h(){let c=String(t.get("sentence")??"");if(l&&c===f)return;f=c;let g=J(c);b=Math.max(g.length-W,0),l=it(i,g.slice(0,W))}let C=()=>{let c=Number(t.get("word")??-1);return c>=0&&c<l.tokens.length?c:-1};function z(){h(),v.value!==f&&(v.value=f),B(_,t.get("head"));let c=C(),g=c<0?[]:G(l.weights,t.get("head"))[c],x=w.contains(document.activeElement);w.replaceChildren(...l.tokens.map(($,p)=>{let E=Math.max(...l.probabilities[p]),A=d("button",{type:"button",class:"attnlab-token",role:"radio","aria-checked":p===c?"true":"false",tabindex:p===Math.max(c,0)?0:-1,"data-part":"token",on:{click:()=>a({word:p})}},d("b",{dir:"auto"},$),d("span",{},l.tags[p]),d("i",{},c<0?`${N(100*E,0)} %`:`gives ${N(100*g[p],0)} %`));return c>=0&&H(A,g[p]),A})),x&&w.querySelector('[tabindex="0"]')?.focus(),y.replaceChildren(...l.tokens.map(($,p)=>d("tr",{},d("th",{scope:"row",dir:"auto"},$),d("td",{},l.tags[p]),d("td",{},Math.max(...l.probabilities[p]).toFixed(4)),d("td",{},c<0?"–":g[p].toFixed(4))))),k(c,g),T()}function k(c,g){if(!l.tokens.length){m.textContent="",n("Type a sentence: there is nothing to tag yet.");return}let x=b?` Only the first ${W} of ${W+b} words are shown.`:"";if(c<0){m.textContent="Pick a word to see where the tagger looked.",n(l.tokens.map((A,M)=>`${A} ${l.tags[M]}`).join(", ")+"."+x);return}let $=l.probabilities[c].map((A,M)=>({p:A,tag:s.tags[M]})).sort((A,M)=>M.p-A.p).slice(0,3);m.textContent=$.map(({p:A,tag:M})=>`${M} ${N(100*A,1)} %`).join(" · ");let p=g.indexOf(Math.max(...g)),E=p===c?"itself":`“${l.tokens[p]}” (word ${p+1})`;n(`“${l.tokens[c]}” (word ${c+1}) is ${l.tags[c]}. It takes most from ${E}: ${N(100*g[p],0)} %.${x}`)}function T(){w.querySelector("svg")?.remove();let c=C(),g=[...w.querySelectorAll(".attnlab-token")],x=g.length>1&&g.every(M=>M.offsetTop===g[0].offsetTop),$=c>=0&&x&&w.clientWidth>480;if(w.classList.toggle("has-arcs",$),!$)return;let p=G(l.weights,t.get("head"))[c],E=F("svg",{class:"attnlab-arcs","aria-hidden":"true","data-part":"arcs"}),A=g.map(M=>M.offsetLeft+M.offsetWidth/2);g.forEach((M,I)=>{if(p[I]<.02)return;let[O,D]=[A[c],A[I]],U=I===c?26:Math.min(24+Math.abs(D-O)*.16,76),ct=I===c?`M ${O-9} 82 C ${O-22} ${82-U*1.4}, ${O+22} ${82-U*1.4}, ${O+9} 82`:`M ${O} 82 C ${O} ${82-U}, ${D} ${82-U}, ${D} 82`;E.append(F("path",{d:ct,fill:"none",stroke:"var(--fig-query)","stroke-width":(1+9*p[I]).toFixed(2),"stroke-opacity":(.25+.7*p[I]).toFixed(2),"stroke-linecap":"round"}))}),w.prepend(E)}return{update:z,pytorch:()=>Lt(f,C(),t.get("head")),svg:()=>St(l,C(),t.get("head"))}}});function Lt(t,e,n){let[a,r]=n.split(".").map(Number),o=n==="mean"?"tagged.weights.mean((0, 1))":`tagged.weights[${a-1}, ${r-1}]`,i=e<0?"":`weights = ${o}[${e}]  # how much word ${e} takes of each word
`;return`from attnlab.tagging import shipped

tagged = shipped.load().tag(${JSON.stringify(t)})
${i}for i, (token, tag) in enumerate(zip(tagged.tokens, tagged.tags)):
    print(token, tag, round(tagged.probabilities[i].max().item(), 4)${e<0?"":", round(weights[i].item(), 4)"})
`}function St(t,e,n){let a=e<0?[]:G(t.weights,n)[e],r=110,o=l=>l.replace(/[&<>"]/g,f=>`&#${f.charCodeAt(0)};`),i=t.tokens.map((l,f)=>{let b=10+f*r,v=a[f]??0;return`<rect x="${b}" y="10" width="${r-8}" height="76" rx="8" fill="#0069a8" fill-opacity="${(.52*v).toFixed(3)}" stroke="${f===e?"#0069a8":"#d5dae0"}" stroke-width="2"/><text x="${b+51}" y="36" font-size="18">${o(l)}</text><text x="${b+51}" y="57" font-size="13">${t.tags[f]}</text><text x="${b+51}" y="76" font-size="13">${e<0?"":`${N(100*v,0)} %`}</text>`}),s=12+t.tokens.length*r;return`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${s} 96" width="${s}" height="96" font-family="sans-serif" fill="#1b1f24" text-anchor="middle">${i.join("")}</svg>`}export{W as MOST_TOKENS,G as chosen,Bt as default};
