function d(t,a={},...o){let i=document.createElement(t);for(let[r,l]of Object.entries(a))if(r==="on")for(let[w,g]of Object.entries(l))i.addEventListener(w,g);else l===!0?i.setAttribute(r,""):l!=null&&l!==!1&&i.setAttribute(r,String(l));return i.append(...o.filter(r=>r!=null)),i}function M(t,a={},...o){let i=document.createElementNS("http://www.w3.org/2000/svg",t);for(let[r,l]of Object.entries(a))i.setAttribute(r,String(l));return i.append(...o),i}function L(t,a=2){if(t===-1/0)return"−∞";if(Math.abs(t)>=1e5)return t.toExponential(1).replace("-","−");let o=t.toFixed(a);return Number(o)===0?o.replace("-",""):o.replace("-","−")}function bt({label:t,options:a,value:o,part:i,onChange:r}){let l=a.map(g=>d("button",{type:"button",role:"radio","aria-checked":g.value===o?"true":"false",tabindex:g.value===o?0:-1,"data-value":g.value,on:{click:()=>r(g.value)}},g.text)),w=d("div",{class:"attnlab-choices",role:"radiogroup","aria-label":t,"data-part":i});return w.append(...l),w.addEventListener("keydown",g=>{let E={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[g.key],q=l.findIndex(V=>V===g.target);if(!E||q<0)return;g.preventDefault();let j=l[(q+E+l.length)%l.length];ct(w,j.dataset.value),j.focus(),r(j.dataset.value)}),w}function ct(t,a){for(let o of t.querySelectorAll("button")){let i=o.dataset.value===a;o.setAttribute("aria-checked",String(i)),o.tabIndex=i?0:-1}}var Rt={query:"#0069a8",key:"#b04a00",value:"#00795a",output:"#a0307a",ink:"#1b1f24",line:"#d5dae0"};function ht(t){let a=t.cloneNode(!0);return a.setAttribute("xmlns","http://www.w3.org/2000/svg"),Object.entries(Rt).reduce((o,[i,r])=>o.replaceAll(`var(--fig-${i})`,r),a.outerHTML)}function gt(t,a,o){t.addEventListener("pointerdown",i=>{let r=new AbortController;t.setPointerCapture(i.pointerId),t.addEventListener("pointermove",l=>o(l),{signal:AbortSignal.any([a,r.signal])});for(let l of["pointerup","pointercancel"])t.addEventListener(l,()=>r.abort(),{once:!0})},{signal:a})}var mt=`/* The figures carry their own colours: in Lab and Colab there is no book theme around them. */
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
`;function yt(t){return{name:t.name,keys:t.keys,async render({model:a,el:o,signal:i,place:r={}}){let l=new AbortController;i?.addEventListener("abort",()=>l.abort()),_t(o);let w=Object.fromEntries(t.keys.map(v=>[v,structuredClone(a.get(v))])),g=d("div",{class:"attnlab-body"}),E=d("p",{class:"attnlab-status",role:"status","data-part":"status"}),q=d("p",{class:"attnlab-error",role:"alert","data-part":"error",hidden:!0}),j=d("div",{class:"attnlab-bar",role:"group","aria-label":`${t.title}: actions`}),V=d("div",{class:"attnlab-root","data-lm-suppress-shortcuts":"true","data-figure":t.name},g,q,E,j);o.replaceChildren(V);let G,tt=v=>{try{v(),q.hidden=!0}catch(C){console.warn("attnlab figure:",C),q.textContent=`This figure could not be drawn: ${C instanceof Error?C.message:C}`,q.hidden=!1}},J=()=>tt(()=>G?.update()),W=v=>{for(let[C,et]of Object.entries(v))a.set(C,et);a.save_changes(),J()},K=v=>{E.textContent!==v&&(E.textContent=v)};try{G=await t.setup({model:a,body:g,say:K,set:W,signal:l.signal,place:r})}catch(v){return tt(()=>{throw v}),()=>l.abort()}let ot=()=>Object.fromEntries(t.keys.map(v=>[v,a.get(v)]));j.append(D("Reset","reset",()=>(W(structuredClone(w)),"Reset.")),r.link?D("Copy link","link",()=>N(r.link(ot()))):"",D("Copy as PyTorch","pytorch",()=>N(G.pytorch())),D("Save SVG","svg",()=>Nt(G.svg(),`attnlab-${t.name}.svg`))),J();for(let v of t.keys)a.on(`change:${v}`,J),l.signal.addEventListener("abort",()=>a.off?.(`change:${v}`,J));return()=>l.abort();function D(v,C,et){let it=d("button",{type:"button","data-part":C},v);return it.addEventListener("click",async()=>{try{K(await et())}catch(at){K(`That did not work: ${at instanceof Error?at.message:at}`)}}),it}async function N(v){V.querySelector(".attnlab-copied")?.remove();try{return await navigator.clipboard.writeText(v),"Copied."}catch{let C=d("textarea",{class:"attnlab-copied",readonly:!0,rows:Math.min(v.split(`
`).length,12),"aria-label":"Text to copy","data-part":"copied"});return C.value=v,j.after(C),C.focus(),C.select(),"The text is selected below: copy it with your keyboard."}}}}}function Nt(t,a){let o=URL.createObjectURL(new Blob([t],{type:"image/svg+xml"}));return d("a",{href:o,download:a}).click(),setTimeout(()=>URL.revokeObjectURL(o),1e4),`Saved ${a}.`}function _t(t){t.classList.add("attnlab-figure");let a=t.getRootNode(),o=a instanceof Document?a.head:a instanceof ShadowRoot?a:t;if(o.querySelector?.("style[data-attnlab]"))return;let i=d("style",{"data-attnlab":!0});i.textContent=mt,o.append(i)}var ut=(t,a)=>t.map(o=>a[0].map((i,r)=>o.reduce((l,w,g)=>l+w*a[g][r],0)));function vt(t){let a=Math.max(...t);if(a===-1/0)return t.map(()=>0);let o=t.map(r=>Math.exp(r-a)),i=o.reduce((r,l)=>r+l,0);return o.map(r=>r/i)}function xt(t,a,o=1e4){let i=t.slice();for(let r=0;r<t.length;r+=2){let l=a*o**(-r/t.length),[w,g]=[Math.cos(l),Math.sin(l)];i[r]=t[r]*w-t[r+1]*g,i[r+1]=t[r]*g+t[r+1]*w}return i}var rt=["none","sinusoidal","learned","rotary","alibi","relative"],Pt=(t,a,o)=>Array.from({length:a},(i,r)=>{let l=t*o**(-(r-r%2)/a);return r%2?Math.cos(l):Math.sin(l)});function kt(t,a,o){if(t.scheme==="alibi")return-t.slope*Math.abs(o-a);if(t.scheme!=="relative")return 0;let i=(t.relative.length-1)/2;return t.relative[Math.min(Math.max(o-a,-i),i)+i]}function pt(t,a,o){if(!rt.includes(t.scheme))throw new Error(`scheme must be one of ${rt.join(", ")}, got “${t.scheme}”.`);let i=t.scheme==="sinusoidal"?Pt(o,a.length,t.base):t.scheme==="learned"?t.learned[o]:a.map(()=>0),r=[a.map((q,j)=>q+i[j])],[l,w,g]=[t.wq,t.wk,t.wv].map(q=>ut(r,q)[0]),E=q=>t.scheme==="rotary"?xt(q,o,t.base):q;return{q:E(l),k:E(w),v:g}}var wt=(t,a)=>t.reduce((o,i,r)=>o+i*a[r],0),dt=(t,a,o,i,r)=>wt(pt(t,a,i).q,pt(t,o,r).k)/Math.sqrt(t.wq[0].length)+kt(t,i,r);function st(t,a){let o=a.map((r,l)=>pt(t,t.x[r],l)),i=o.map(({q:r},l)=>vt(o.map(({k:w},g)=>wt(r,w)/Math.sqrt(r.length)+kt(t,l,g))));return{weights:i,output:ut(i,o.map(({v:r})=>r))}}var A=31,B=12,[R,ft]=[300,346],[$t,nt]=[172,306],U=240,Ht={none:"none",sinusoidal:"sinusoids",learned:"learned",rotary:"RoPE",alibi:"ALiBi",relative:"relative bias"},z=t=>20+t*(R-40)/A,Y=t=>34+(t+B)*(R-52)/(2*B),I=(t,a)=>Array.from({length:a-t+1},(o,i)=>t+i),Mt=t=>Math.min(Math.max(Math.round(t),0),A),te=yt({name:"positions",title:"Positions",keys:["scheme","m","n","order","asks","answers"],setup({model:t,body:a,say:o,set:i,signal:r}){let l=bt({label:"Scheme",part:"scheme",value:t.get("scheme"),options:rt.map(e=>({value:e,text:Ht[e]})),onChange:e=>i({scheme:e})}),w=M("svg",{viewBox:`0 0 ${R} ${ft}`,role:"group","aria-label":"A line of positions with a query and a key to shift, and the score as a curve over their distance","data-part":"line",style:"flex: 1 1 18rem; min-width: 0; max-width: 25rem; height: auto; touch-action: pan-y; display: block"}),g=M("svg",{viewBox:`0 0 ${U} ${U}`,role:"img",style:"flex: 1 1 13rem; min-width: 0; max-width: 17rem; height: auto; display: block"}),E=d("div",{class:"attnlab-choices",role:"group","aria-label":"The sentence; pick two words to swap them"}),q=(e,n,s)=>d("button",{type:"button","data-part":n,on:{click:s}},e),j=d("tbody"),V=d("tr"),G=d("tbody"),tt=(e,n)=>d("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":e,style:"margin-top: .6rem"},n),J=e=>e.map(n=>d("th",{scope:"col"},n));a.append(d("div",{class:"attnlab-row"},d("span",{class:"attnlab-label"},"Positions"),l),d("div",{class:"attnlab-row",style:"align-items: flex-start"},w,d("div",{style:"flex: 1 1 14rem; min-width: 0"},d("p",{class:"attnlab-label"},"The sentence: pick two words to swap them"),d("div",{class:"attnlab-row",style:"margin-top: .4rem"},E),d("div",{class:"attnlab-row"},q("Shuffle","shuffle",()=>i({order:Ft(t.get("order"))})),q("As written","restore",()=>i({order:I(0,t.get("order").length-1)}))),d("p",{class:"attnlab-label"},"Outputs (two numbers each); a ring marks where one was as written"),g)),tt("Outputs of the sentence",d("table",{"data-part":"numbers"},d("thead",{},d("tr",{},...J(["place","token","output 1","output 2"]))),j)),d("details",{},d("summary",{},"Scores over the distance"),tt("Scores over the distance",d("table",{"data-part":"curve"},d("thead",{},V),G))));let W=-1,K,ot={},D=M("g"),N={query:C("query"),key:C("key"),both:C("both")};w.append(D,...Object.values(N));function v(e,n){let[s,f]=[t.get("m"),t.get("n")];if(e==="query")i({m:Mt(n)});else if(e==="key")i({n:Mt(n)});else{let c=Math.min(Math.max(Math.round(n)-s,-Math.min(s,f)),A-Math.max(s,f));c&&i({m:s+c,n:f+c})}}function C(e){let n={query:()=>M("path",{d:"M 0 -11 L 11 0 L 0 11 L -11 0 Z",fill:"var(--fig-query)"}),key:()=>M("circle",{r:10,fill:"var(--fig-key)"}),both:()=>M("rect",{y:-13,height:26,rx:9,fill:"var(--fig-tint)",stroke:"var(--fig-quiet)"})}[e],s=M("g",{tabindex:0,role:"slider","data-part":"handle","data-which":e,"aria-valuemin":0,"aria-valuemax":A,style:"cursor: grab; touch-action: none"},e==="both"?"":M("circle",{r:19,fill:"transparent"}),n(),M("text",{y:{query:-16,key:25,both:5}[e],"text-anchor":"middle","font-size":14,fill:"var(--fig-ink)"})),f=0,c=u=>{let y=w.getBoundingClientRect();return((u.clientX-y.left)/y.width*R-20)/(R-40)*A};return s.addEventListener("pointerdown",u=>f=e==="both"?c(u)-t.get("m"):0,{signal:r}),gt(s,r,u=>v(e,c(u)-f)),s.addEventListener("keydown",u=>{let y={ArrowRight:1,ArrowUp:1,ArrowLeft:-1,ArrowDown:-1,PageUp:5,PageDown:-5,Home:-A,End:A}[u.key];y&&(u.preventDefault(),v(e,t.get(e==="key"?"n":"m")+y))}),s}function et(){let e=b=>t.get(b),[n,s,f,c]=[e("tokens"),e("order"),e("m"),e("n")],u={asks:e("asks"),answers:e("answers")};if(!Array.isArray(s)||s.length!==n.length||!I(0,n.length-1).every(b=>s.includes(b)))throw new Error(`order must hold each of 0 to ${n.length-1} once, got ${s}.`);for(let[b,x]of Object.entries({m:f,n:c}))if(!Number.isInteger(x)||x<0||x>A)throw new Error(`${b} must be a whole number from 0 to ${A}, got ${x}.`);for(let[b,x]of Object.entries(u))if(!n[x])throw new Error(`${b} must be from 0 to ${n.length-1}, got ${x}.`);let S={...Object.fromEntries(["x","wq","wk","wv","learned","relative","slope","base"].map(b=>[b,e(b)])),scheme:e("scheme")},m=n.map((b,x)=>{let X=n.filter(O=>O===b).length>1,_=n.slice(0,x).filter(O=>O===b).length;return b+(X?"₁₂₃₄₅₆₇₈₉"[_%9]:"")});return{head:S,tokens:n,order:s,m:f,n:c,names:m,ask:(b,x)=>dt(S,S.x[u.asks],S.x[u.answers],b,x),...u}}function it({head:e,asks:n,answers:s}){let f=rt.map(c=>({...e,scheme:c})).flatMap(c=>I(0,A).flatMap(u=>I(Math.max(u-B,0),Math.min(u+B,A)).map(y=>dt(c,c.x[n],c.x[s],u,y))));return{low:Math.floor(Math.min(...f)),high:Math.ceil(Math.max(...f))}}function at({head:e,order:n}){let s=n.map((c,u)=>[...n.slice(u),...n.slice(0,u)]),f=[...s,...s.map(c=>c.slice().reverse())].flatMap(c=>st(e,c).output);return[0,1].flatMap(c=>[Math.min(...f.map(u=>u[c])),Math.max(...f.map(u=>u[c]))])}function qt(){let e=et(),{head:n,order:s,m:f,n:c,names:u,ask:y,asks:S,answers:m}=e,$=y(f,c);K??=it(e),ot[n.scheme]??=at(e),ct(l,n.scheme),Et(e,K,$);let{output:b}=st(n,s),x=st(n,I(0,s.length-1)).output,X=s.map((h,k)=>Math.hypot(...b[k].map((F,lt)=>F-x[h][lt])));Ct(s.map((h,k)=>({name:u[h],at:b[k],from:x[h]})),ot[n.scheme]),E.childElementCount!==s.length&&E.replaceChildren(...s.map((h,k)=>q("","token",()=>St(k)))),[...E.children].forEach((h,k)=>{h.textContent=`${k} ${u[s[k]]}`,h.setAttribute("aria-pressed",String(k===W)),h.style.outline=k===W?"3px solid var(--fig-query)":""});let _=([h,...k])=>d("tr",{},d("th",{scope:"row"},h),...k.map(F=>d("td",{},F)));j.replaceChildren(...s.map((h,k)=>_([String(k),u[h],...b[k].map(F=>L(F,4))])));let O=[f,...[0,10,21,A].filter(h=>h!==f)];At(O),G.replaceChildren(...I(-B,B).map(h=>_([L(h,0),...O.map(k=>k+h<0||k+h>A?"":L(y(k,k+h),4))])));let P=I(0,A).filter(h=>h+c-f>=0&&h+c-f<=A).map(h=>y(h,h+c-f)),[H,Z]=[Math.min(...P),Math.max(...P)],Q=P.length<2?"There is no room to shift both.":Z-H<1e-9?"Shift both, and it stays.":`Shift both, and it runs from ${L(H)} to ${L(Z)}.`,p=Ut(u,e.tokens,s,b),T=s.every((h,k)=>h===k)?"":Math.max(...X)<1e-9?" The new order changed no token's output.":` The new order moved an output by up to ${L(Math.max(...X))}.`;o(`${u[S]} at ${f} asks ${u[m]} at ${c}, distance ${L(c-f,0)}: score ${L($)}. ${Q}${p}${T}`)}function At(e){V.replaceChildren(...J(["key minus query",...e.map(n=>`query at ${n}`)]))}function St(e){let n=t.get("order").slice(),s=W;W=s<0?e:-1,s>=0&&([n[s],n[e]]=[n[e],n[s]]),i({order:n})}function Et({m:e,n,names:s,asks:f,answers:c,ask:u},{low:y,high:S},m){let $=p=>nt-(p-y)/(S-y)*(nt-$t),b=(p,T,h,k="middle",F="var(--fig-quiet)")=>M("text",{x:p,y:T,"text-anchor":k,"font-size":13,fill:F},h),x=p=>I(Math.max(-B,-p),Math.min(B,A-p)).map((T,h)=>`${h?"L":"M"} ${Y(T).toFixed(1)} ${$(u(p,p+T)).toFixed(1)}`).join(" "),X=Math.ceil((S-y)/5),_=I(y,S).filter(p=>p%X===0);D.replaceChildren(M("path",{d:`M ${z(0)} 70 H ${z(A)} ${I(0,A).map(p=>`M ${z(p)} ${p%10?67:63} V ${p%10?73:77}`).join(" ")}`,stroke:"var(--fig-quiet)",fill:"none"}),...[0,10,20,30].map(p=>b(z(p),92,String(p))),..._.map(p=>M("path",{d:`M 34 ${$(p)} H ${R-18}`,stroke:"var(--fig-line)"})),..._.map(p=>b(28,$(p)+4,L(p,0),"end")),...I(-3,3).map(p=>b(Y(4*p),nt+17,L(4*p,0))),b(Y(0),nt+35,"distance: key minus query"),b(4,$t-12,"score (dashed: query at 0, 10, 21, 31)","start"),...[0,10,21,A].map(p=>M("path",{d:x(p),fill:"none",stroke:"var(--fig-quiet)","stroke-width":1.2,"stroke-dasharray":"4 3"})),M("path",{d:x(e),fill:"none",stroke:"var(--fig-query)","stroke-width":2.5})),Math.abs(n-e)<=B&&D.append(M("path",{d:`M ${Y(n-e)} ${nt} V ${$(m)}`,stroke:"var(--fig-key)","stroke-dasharray":"2 3"}),M("circle",{cx:Y(n-e),cy:$(m),r:6,fill:"var(--fig-key)",stroke:"var(--fig-paper)","stroke-width":2}),b(Math.min(Math.max(Y(n-e),50),R-40),$(m)-11,L(m),"middle","var(--fig-ink)"));let O=(p,T,h,k,F,lt,jt)=>{p.setAttribute("transform",`translate(${T.toFixed(1)} ${h})`),p.lastElementChild.textContent=k;for(let[Tt,zt]of Object.entries({"aria-label":F,"aria-valuenow":lt,"aria-valuetext":jt}))p.setAttribute(Tt,String(zt))},P=p=>Math.min(Math.max(p,34),R-34);O(N.query,z(e),34,s[f],`query of ${s[f]}`,e,`position ${e}`),O(N.key,z(n),106,s[c],`key of ${s[c]}`,n,`position ${n}`);for(let[p,T]of[[N.query,e],[N.key,n]])p.lastElementChild.setAttribute("x",(P(z(T))-z(T)).toFixed(1));let H=Math.max(Math.abs(z(n)-z(e)),44),Z=Math.min(Math.max((z(e)+z(n))/2,H/2),R-H/2);O(N.both,Z,70,L(n-e,0),"query and key together",e,`query at ${e}, key at ${n}`);let Q=N.both.querySelector("rect");Q.setAttribute("x",String(-H/2)),Q.setAttribute("width",String(H))}function Ct(e,[n,s,f,c]){let u=1.3*Math.max(s-n,c-f,1e-6),y=([m,$])=>[((m-(n+s)/2)/u+.5)*U,(.5-($-(f+c)/2)/u)*U],S=[];for(let{name:m,at:$}of e){let b=S.find(x=>Math.hypot(x.at[0]-$[0],x.at[1]-$[1])<1e-9);b?b.name=[...b.name.split(" = "),m].sort().join(" = "):S.push({name:m,at:$,spot:y($)})}g.replaceChildren(M("rect",{x:.5,y:.5,width:U-1,height:U-1,rx:8,fill:"none",stroke:"var(--fig-line)"}),...e.map(({at:m,from:$})=>M("path",{d:`M ${y($).join(" ")} L ${y(m).join(" ")}`,stroke:"var(--fig-output)","stroke-opacity":.5})),...e.map(({from:m})=>M("circle",{cx:y(m)[0],cy:y(m)[1],r:9,fill:"none",stroke:"var(--fig-output)"})),...e.map(({at:m})=>M("circle",{cx:y(m)[0],cy:y(m)[1],r:6,fill:"var(--fig-output)"})),...S.map(m=>{let[$,b]=m.spot,x=5+4*m.name.length,_=[[0,-13],[0,24],[x+10,5],[-x-10,5]].map(([O,P])=>{let[H,Z]=[Math.min(Math.max($+O,x),U-x),b+P-5],Q=S.map(({spot:p,name:T})=>T===m.name?99:Math.hypot((p[0]-H)/(x+8),(p[1]-Z)/16));return{cx:H,cy:Z+5,gap:Math.min(1.5,...Q)}}).reduce((O,P)=>P.gap>O.gap?P:O);return M("text",{x:_.cx.toFixed(1),y:_.cy.toFixed(1),"text-anchor":"middle","font-size":14,fill:"var(--fig-ink)"},m.name)})),g.setAttribute("aria-label",`The outputs in a plane: ${S.map(({name:m,at:$})=>`${m} at ${L($[0])}, ${L($[1])}`).join("; ")}`)}function Lt(){let e=S=>`torch.tensor(${JSON.stringify(t.get(S))}, dtype=torch.float64)`,[n,s]=[t.get("scheme"),(t.get("relative").length-1)/2],f={sinusoidal:`    x = x + positions.sinusoidal(len(x), 4, base=base, dtype=x.dtype)
`,learned:`    x = x + learned[: len(x)]
`}[n]??"",c=n==="rotary"?`    q, k = positions.rotary(q, base=base), positions.rotary(k, base=base)
`:"",u={alibi:`    return -${t.get("slope")} * distance.abs().double()`,relative:`    return relative[distance.clamp(-${s}, ${s}) + ${s}]`}[n]??"    return torch.zeros_like(distance, dtype=torch.float64)",y=["learned","relative"].includes(n)?`${n} = ${e(n)}
`:"";return`import torch

from attnlab import attention, positions

base = ${t.get("base")}
x = ${e("x")}  # ${t.get("tokens").join(", ")}
wq = ${e("wq")}
wk = ${e("wk")}
wv = ${e("wv")}
${y}

def views(x):
${f}    q, k, v = x @ wq, x @ wk, x @ wv
${c}    return q, k, v


def bias(n):
    distance = torch.arange(n) - torch.arange(n)[:, None]  # of the key from the query
${u}


q, k = views(x[${t.get("asks")}].expand(32, 4))[0], views(x[${t.get("answers")}].expand(32, 4))[1]
print(round((q @ k.T / 2 + bias(32))[${t.get("m")}, ${t.get("n")}].item(), 4))  # the score
sentence = x[${JSON.stringify(t.get("order"))}]
print(attention(*views(sentence), bias=bias(len(sentence))))
`}return{update:qt,pytorch:Lt,svg:Ot};function Ot(){let e=(n,s)=>{let f=n.cloneNode(!0);for(let[c,u]of Object.entries(s))f.setAttribute(c,String(u));return f.removeAttribute("style"),f};return ht(M("svg",{viewBox:`0 0 ${R+U+20} ${ft}`,"font-family":"system-ui, sans-serif"},e(w,{x:0,y:0,width:R,height:ft}),e(g,{x:R+10,y:50,width:U,height:U})))}}});function Ut(t,a,o,i){let r=a.findIndex((q,j)=>a.indexOf(q,j+1)>0);if(r<0)return"";let l=a.indexOf(a[r],r+1),[w,g]=[r,l].map(q=>i[o.indexOf(q)]),E=Math.hypot(w[0]-g[0],w[1]-g[1]);return E<1e-9?` ${t[r]} and ${t[l]} get the same output.`:` The outputs of ${t[r]} and ${t[l]} lie ${L(E)} apart.`}function Ft(t){let a=t.slice();do for(let o=a.length-1;o>0;o--){let i=Math.floor(Math.random()*(o+1));[a[o],a[i]]=[a[i],a[o]]}while(a.length>1&&a.every((o,i)=>o===t[i]));return a}export{te as default};
