function s(t,e={},...r){let n=document.createElement(t);for(let[a,i]of Object.entries(e))if(a==="on")for(let[w,p]of Object.entries(i))n.addEventListener(w,p);else i===!0?n.setAttribute(a,""):i!=null&&i!==!1&&n.setAttribute(a,String(i));return n.append(...r.filter(a=>a!=null)),n}function y(t,e={},...r){let n=document.createElementNS("http://www.w3.org/2000/svg",t);for(let[a,i]of Object.entries(e))n.setAttribute(a,String(i));return n.append(...r),n}function j(t,e=2){if(t===-1/0)return"−∞";if(Math.abs(t)>=1e5)return t.toExponential(1).replace("-","−");let r=t.toFixed(e);return Number(r)===0?r.replace("-",""):r.replace("-","−")}function V({label:t,options:e,value:r,part:n,onChange:a}){let i=e.map(p=>s("button",{type:"button",role:"radio","aria-checked":p.value===r?"true":"false",tabindex:p.value===r?0:-1,"data-value":p.value,on:{click:()=>a(p.value)}},p.text)),w=s("div",{class:"attnlab-choices",role:"radiogroup","aria-label":t,"data-part":n});return w.append(...i),w.addEventListener("keydown",p=>{let M={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[p.key],k=i.findIndex(S=>S===p.target);if(!M||k<0)return;p.preventDefault();let q=i[(k+M+i.length)%i.length];P(w,q.dataset.value),q.focus(),a(q.dataset.value)}),w}function P(t,e){for(let r of t.querySelectorAll("button")){let n=r.dataset.value===e;r.setAttribute("aria-checked",String(n)),r.tabIndex=n?0:-1}}var ut={query:"#0069a8",key:"#b04a00",value:"#00795a",output:"#a0307a",ink:"#1b1f24",line:"#d5dae0"};function G(t){let e=t.cloneNode(!0);return e.setAttribute("xmlns","http://www.w3.org/2000/svg"),Object.entries(ut).reduce((r,[n,a])=>r.replaceAll(`var(--fig-${n})`,a),e.outerHTML)}function J(t,e,r){t.addEventListener("pointerdown",n=>{let a=new AbortController;t.setPointerCapture(n.pointerId),t.addEventListener("pointermove",i=>r(i),{signal:AbortSignal.any([e,a.signal])});for(let i of["pointerup","pointercancel"])t.addEventListener(i,()=>a.abort(),{once:!0})},{signal:e})}var X=`/* The figures carry their own colours: in Lab and Colab there is no book theme around them. */
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
/* temperature and √d */
.attnlab-root .attnlab-tight :is(th, td) {
  padding: 0.15rem 0.45rem;
  font-size: 0.875rem;
}
.attnlab-root .attnlab-tight td {
  white-space: nowrap;
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
`;function Y(t){return{name:t.name,keys:t.keys,async render({model:e,el:r,signal:n,place:a={}}){let i=new AbortController;n?.addEventListener("abort",()=>i.abort()),ft(r);let w=Object.fromEntries(t.keys.map(l=>[l,structuredClone(e.get(l))])),p=s("div",{class:"attnlab-body"}),M=s("p",{class:"attnlab-status",role:"status","data-part":"status"}),k=s("p",{class:"attnlab-error",role:"alert","data-part":"error",hidden:!0}),q=s("div",{class:"attnlab-bar",role:"group","aria-label":`${t.title}: actions`}),S=s("div",{class:"attnlab-root","data-lm-suppress-shortcuts":"true","data-figure":t.name},p,k,M,q);r.replaceChildren(S);let L,I=l=>{try{l(),k.hidden=!0}catch(m){console.warn("attnlab figure:",m),k.textContent=`This figure could not be drawn: ${m instanceof Error?m.message:m}`,k.hidden=!1}},C=()=>I(()=>L?.update()),R=l=>{for(let[m,U]of Object.entries(l))e.set(m,U);e.save_changes(),C()},O=l=>{M.textContent!==l&&(M.textContent=l)};try{L=await t.setup({model:e,body:p,say:O,set:R,signal:i.signal,place:a})}catch(l){return I(()=>{throw l}),()=>i.abort()}let H=()=>Object.fromEntries(t.keys.map(l=>[l,e.get(l)]));q.append(T("Reset","reset",()=>(R(structuredClone(w)),"Reset.")),a.link?T("Copy link","link",()=>_(a.link(H()))):"",T("Copy as PyTorch","pytorch",()=>_(L.pytorch())),T("Save SVG","svg",()=>dt(L.svg(),`attnlab-${t.name}.svg`))),C();for(let l of t.keys)e.on(`change:${l}`,C),i.signal.addEventListener("abort",()=>e.off?.(`change:${l}`,C));return()=>i.abort();function T(l,m,U){let o=s("button",{type:"button","data-part":m},l);return o.addEventListener("click",async()=>{try{O(await U())}catch(f){O(`That did not work: ${f instanceof Error?f.message:f}`)}}),o}async function _(l){S.querySelector(".attnlab-copied")?.remove();try{return await navigator.clipboard.writeText(l),"Copied."}catch{let m=s("textarea",{class:"attnlab-copied",readonly:!0,rows:Math.min(l.split(`
`).length,12),"aria-label":"Text to copy","data-part":"copied"});return m.value=l,q.after(m),m.focus(),m.select(),"The text is selected below: copy it with your keyboard."}}}}}function dt(t,e){let r=URL.createObjectURL(new Blob([t],{type:"image/svg+xml"}));return s("a",{href:r,download:e}).click(),setTimeout(()=>URL.revokeObjectURL(r),1e4),`Saved ${e}.`}function ft(t){t.classList.add("attnlab-figure");let e=t.getRootNode(),r=e instanceof Document?e.head:e instanceof ShadowRoot?e:t;if(r.querySelector?.("style[data-attnlab]"))return;let n=s("style",{"data-attnlab":!0});n.textContent=X,r.append(n)}function K(t){let e=Math.max(...t);if(e===-1/0)return t.map(()=>0);let r=t.map(a=>Math.exp(a-e)),n=r.reduce((a,i)=>a+i,0);return r.map(a=>a/n)}var Q=(t,e,r)=>e.map(([n,a])=>r==="dot"?t[0]*n+t[1]*a:-((t[0]-n)**2+(t[1]-a)**2)/2);function tt(t,e,r){let n=t.map(a=>a/r);if(e==="softmax")return K(n);if(e==="sparsemax")return gt(n);if(e==="relu")return n.map(a=>Math.max(a,0)/n.length);if(e==="none")return n;throw new Error(`weights must be softmax, sparsemax, relu or none, got “${e}”.`)}function gt(t){let e=t.slice().sort((a,i)=>i-a),[r,n]=[0,0];return e.forEach((a,i)=>{r+=a,1+(i+1)*a>r&&(n=(r-1)/(i+1))}),t.map(a=>Math.max(a-n,0))}var et=(t,e)=>{let r=n=>t.reduce((a,i,w)=>a+i*e[w][n],0);return[r(0),r(1)]};function at(t){let e=t.slice().sort((n,a)=>n[0]-a[0]||n[1]-a[1]),r=n=>{let a=[];for(let i of n){for(;a.length>1&&nt(a[a.length-2],a[a.length-1],i)<=0;)a.pop();a.push(i)}return a.slice(0,-1)};return e.length<3?e:[...r(e),...r(e.reverse())]}function rt(t,e){let r=e.length;return r<3?!0:e.every((n,a)=>nt(n,e[(a+1)%r],t)>=-1e-9)}var nt=(t,e,r)=>(e[0]-t[0])*(r[1]-t[1])-(e[1]-t[1])*(r[0]-t[0]);var x=3,A=360,ot=.1,F=t=>(t+x)/(2*x)*A,N=t=>(x-t)/(2*x)*A,it=t=>Math.round(Math.min(Math.max(t,-x),x)*100)/100,Mt=Y({name:"lookup",title:"Soft lookup",keys:["query","values","names","score","weights","temperature"],setup({model:t,body:e,say:r,set:n,signal:a}){let i=V({label:"Score",part:"score",value:t.get("score"),options:[{value:"dot",text:"dot product"},{value:"distance",text:"closeness"}],onChange:o=>n({score:o})}),w=V({label:"Weights",part:"weigh",value:t.get("weights"),options:["softmax","sparsemax","relu","none"].map(o=>({value:o,text:o})),onChange:o=>n({weights:o})}),p=s("input",{type:"range",min:-2,max:2,step:.05,"data-part":"temperature","aria-label":"Temperature",style:"flex: 1 1 8rem; min-height: 28px; accent-color: var(--fig-query)",on:{input:()=>n({temperature:Math.round(10**Number(p.value)*1e3)/1e3})}}),M=s("span",{class:"attnlab-label",style:"min-width: 3.5rem"}),k=y("svg",{viewBox:`0 0 ${A} ${A}`,role:"group","aria-label":"The plane of keys and values; each point can be dragged, or moved with the arrow keys","data-part":"plane",style:"width: 100%; max-width: 26rem; height: auto; touch-action: none; display: block; margin: .8rem auto 0"}),q=s("tbody");e.append(s("div",{class:"attnlab-row"},s("span",{class:"attnlab-label"},"Score by"),i),s("div",{class:"attnlab-row"},s("span",{class:"attnlab-label"},"Weights by"),w),s("div",{class:"attnlab-row"},s("span",{class:"attnlab-label"},"Temperature"),p,M),k,s("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Table of numbers",style:"margin-top: .8rem"},s("table",{"data-part":"numbers"},s("thead",{},s("tr",{},...["point","x","y","score","weight"].map(o=>s("th",{scope:"col"},o)))),q)));let S=[],L=y("polygon",{fill:"var(--fig-value)","fill-opacity":.12,stroke:"var(--fig-value)","stroke-opacity":.5}),I=y("g",{}),C=y("circle",{r:9,fill:"var(--fig-output)","data-part":"output","pointer-events":"none"}),R=y("text",{fill:"var(--fig-output)","font-size":14,"text-anchor":"middle","pointer-events":"none"},"output"),O=o=>o==="query"?t.get("query"):t.get("values")[o];function H(o,f,g){let b=[it(f),it(g)];n(o==="query"?{query:b}:{values:t.get("values").map((h,c)=>c===o?b:h)})}function T(o,f){let g=o==="query"?"query":"value",b=o==="query"?y("path",{d:"M 0 -11 L 11 0 L 0 11 L -11 0 Z",fill:`var(--fig-${g})`}):y("circle",{r:9,fill:`var(--fig-${g})`}),h=y("g",{tabindex:0,role:"slider","data-part":"handle","data-which":o,"aria-valuemin":-x,"aria-valuemax":x,style:"cursor: grab"},y("circle",{r:20,fill:"transparent"}),b,y("text",{y:-15,"text-anchor":"middle","font-size":14,fill:"var(--fig-ink)"},f));return J(h,a,c=>{let v=k.getBoundingClientRect();H(o,(c.clientX-v.left)/v.width*2*x-x,x-(c.clientY-v.top)/v.height*2*x)}),h.addEventListener("keydown",c=>{let v=c.key,E={ArrowRight:[1,0],ArrowLeft:[-1,0],ArrowUp:[0,1],ArrowDown:[0,-1]}[v];if(!E)return;c.preventDefault();let[$,B]=O(o);H(o,$+ot*E[0],B+ot*E[1])}),h}function _(){S=[...t.get("names").map((b,h)=>T(h,b)),T("query","query")];let f=y("path",{d:`M 0 ${A/2} H ${A} M ${A/2} 0 V ${A}`,stroke:"var(--fig-line)"}),g=y("rect",{x:.5,y:.5,width:A-1,height:A-1,fill:"none",stroke:"var(--fig-line)",rx:8});k.replaceChildren(g,f,L,I,...S,C,R)}function l(){let o=t.get("values"),f=t.get("names"),g=$=>Array.isArray($)&&$.length===2&&$.every(Number.isFinite);if(!Array.isArray(o)||!o.length||!o.every(g)||o.length!==f.length)throw new Error("values must be points (x, y), one for each name.");if(!g(t.get("query")))throw new Error("query must be a point (x, y).");let b=Number(t.get("temperature"));if(!(b>0))throw new Error(`temperature must be positive, got ${t.get("temperature")}.`);let h=t.get("query"),c=Q(h,o,t.get("score")),v=tt(c,t.get("weights"),b),E=et(v,o);return{query:h,values:o,names:f,temperature:b,scores:c,weights:v,out:E,corners:at(o)}}function m(){let{query:o,values:f,names:g,temperature:b,scores:h,weights:c,out:v,corners:E}=l();S.length!==g.length+1&&_(),P(i,t.get("score")),P(w,t.get("weights")),p.value=String(Math.log10(b)),p.setAttribute("aria-valuetext",j(b,3)),M.textContent=j(b,b<1?3:2),S.forEach((u,d)=>{let z=d<g.length?d:"query",[D,Z]=O(z);u.setAttribute("transform",`translate(${F(D)} ${N(Z)})`);let ct=z==="query"?"query":`key and value ${g[d]}`;u.setAttribute("aria-label",ct),u.setAttribute("aria-valuenow",String(D)),u.setAttribute("aria-valuetext",`x ${j(D)}, y ${j(Z)}`)}),L.setAttribute("points",E.map(([u,d])=>`${F(u)},${N(d)}`).join(" ")),I.replaceChildren(...f.map(([u,d],z)=>y("line",{x1:F(u),y1:N(d),x2:F(o[0]),y2:N(o[1]),stroke:c[z]<0?"var(--fig-key)":"var(--fig-query)","stroke-width":(.5+8*Math.min(Math.abs(c[z]),1)).toFixed(2),"stroke-opacity":Math.abs(c[z])<1e-9?.08:.45})));let $=v.map(u=>Math.min(Math.max(u,-x),x));C.setAttribute("cx",String(F($[0]))),C.setAttribute("cy",String(N($[1]))),R.setAttribute("x",String(F($[0]))),R.setAttribute("y",String(N($[1])+24));let B=(u,d,z)=>s("tr",{},s("th",{scope:"row"},u),...[d[0].toFixed(2),d[1].toFixed(2),...z].map(D=>s("td",{},D)));q.replaceChildren(B("query",o,["",""]),...f.map((u,d)=>B(g[d],u,[h[d].toFixed(4),c[d].toFixed(4)])),s("tr",{},s("th",{scope:"row"},"output"),...[v[0].toFixed(4),v[1].toFixed(4),"",c.reduce((u,d)=>u+d,0).toFixed(4)].map(u=>s("td",{},u))));let st=c.reduce((u,d)=>u+d,0),lt=rt(v,E)?"inside the hull of the values":"outside the hull of the values",W=c.indexOf(Math.max(...c));r(`The weights sum to ${j(st)}; the largest is ${j(c[W])}, of ${g[W]}. The output is ${lt}.`)}function U(){let o=h=>`torch.tensor(${JSON.stringify(t.get(h))}, dtype=torch.float64)`,f=t.get("temperature"),g=t.get("score")==="dot"?"values @ query":"-(values - query).square().sum(-1) / 2",b={softmax:"scores.softmax(z)",sparsemax:"scores.sparsemax(z)",relu:"scores.relu(z)",none:"z"};return`import torch

from attnlab import scores

query = ${o("query")}
values = ${o("values")}  # the keys too: ${t.get("names").join(", ")}
z = (${g}) / ${f}
weights = ${b[t.get("weights")]}
print(weights)
print(weights @ values)
`}return{update:m,pytorch:U,svg:()=>G(k)}}});export{Mt as default};
