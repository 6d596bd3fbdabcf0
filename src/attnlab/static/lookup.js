function s(t,e={},...r){let n=document.createElement(t);for(let[a,i]of Object.entries(e))if(a==="on")for(let[x,p]of Object.entries(i))n.addEventListener(x,p);else i===!0?n.setAttribute(a,""):i!=null&&i!==!1&&n.setAttribute(a,String(i));return n.append(...r.filter(a=>a!=null)),n}function v(t,e={},...r){let n=document.createElementNS("http://www.w3.org/2000/svg",t);for(let[a,i]of Object.entries(e))n.setAttribute(a,String(i));return n.append(...r),n}function R(t,e=2){if(t===-1/0)return"−∞";if(Math.abs(t)>=1e5)return t.toExponential(1).replace("-","−");let r=t.toFixed(e);return Number(r)===0?r.replace("-",""):r.replace("-","−")}function Z({label:t,options:e,value:r,part:n,onChange:a}){let i=e.map(p=>s("button",{type:"button",role:"radio","aria-checked":p.value===r?"true":"false",tabindex:p.value===r?0:-1,"data-value":p.value,on:{click:()=>a(p.value)}},p.text)),x=s("div",{class:"attnlab-choices",role:"radiogroup","aria-label":t,"data-part":n});return x.append(...i),x.addEventListener("keydown",p=>{let E={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[p.key],k=i.findIndex(S=>S===p.target);if(!E||k<0)return;p.preventDefault();let A=i[(k+E+i.length)%i.length];V(x,A.dataset.value),A.focus(),a(A.dataset.value)}),x}function V(t,e){for(let r of t.querySelectorAll("button")){let n=r.dataset.value===e;r.setAttribute("aria-checked",String(n)),r.tabIndex=n?0:-1}}var X=`/* The figures carry their own colours: in Lab and Colab there is no book theme around them. */
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
`;function Y(t){return{name:t.name,keys:t.keys,async render({model:e,el:r,signal:n,place:a={}}){let i=new AbortController;n?.addEventListener("abort",()=>i.abort()),pt(r);let x=Object.fromEntries(t.keys.map(l=>[l,structuredClone(e.get(l))])),p=s("div",{class:"attnlab-body"}),E=s("p",{class:"attnlab-status",role:"status","data-part":"status"}),k=s("p",{class:"attnlab-error",role:"alert","data-part":"error",hidden:!0}),A=s("div",{class:"attnlab-bar",role:"group","aria-label":`${t.title}: actions`}),S=s("div",{class:"attnlab-root","data-lm-suppress-shortcuts":"true","data-figure":t.name},p,k,E,A);r.replaceChildren(S);let z,D=l=>{try{l(),k.hidden=!0}catch(m){console.warn("attnlab figure:",m),k.textContent=`This figure could not be drawn: ${m instanceof Error?m.message:m}`,k.hidden=!1}},L=()=>D(()=>z?.update()),O=l=>{for(let[m,H]of Object.entries(l))e.set(m,H);e.save_changes(),L()},F=l=>{E.textContent!==l&&(E.textContent=l)};try{z=await t.setup({model:e,body:p,say:F,set:O,signal:i.signal,place:a})}catch(l){return D(()=>{throw l}),()=>i.abort()}let B=()=>Object.fromEntries(t.keys.map(l=>[l,e.get(l)]));A.append(T("Reset","reset",()=>(O(structuredClone(x)),"Reset.")),a.link?T("Copy link","link",()=>P(a.link(B()))):"",T("Copy as PyTorch","pytorch",()=>P(z.pytorch())),T("Save SVG","svg",()=>ut(z.svg(),`attnlab-${t.name}.svg`))),L();for(let l of t.keys)e.on(`change:${l}`,L),i.signal.addEventListener("abort",()=>e.off?.(`change:${l}`,L));return()=>i.abort();function T(l,m,H){let W=s("button",{type:"button","data-part":m},l);return W.addEventListener("click",async()=>{try{F(await H())}catch(o){F(`That did not work: ${o instanceof Error?o.message:o}`)}}),W}async function P(l){S.querySelector(".attnlab-copied")?.remove();try{return await navigator.clipboard.writeText(l),"Copied."}catch{let m=s("textarea",{class:"attnlab-copied",readonly:!0,rows:Math.min(l.split(`
`).length,12),"aria-label":"Text to copy","data-part":"copied"});return m.value=l,A.after(m),m.focus(),m.select(),"The text is selected below: copy it with your keyboard."}}}}}function ut(t,e){let r=URL.createObjectURL(new Blob([t],{type:"image/svg+xml"}));return s("a",{href:r,download:e}).click(),setTimeout(()=>URL.revokeObjectURL(r),1e4),`Saved ${e}.`}function pt(t){t.classList.add("attnlab-figure");let e=t.getRootNode(),r=e instanceof Document?e.head:e instanceof ShadowRoot?e:t;if(r.querySelector?.("style[data-attnlab]"))return;let n=s("style",{"data-attnlab":!0});n.textContent=X,r.append(n)}function K(t){let e=Math.max(...t);if(e===-1/0)return t.map(()=>0);let r=t.map(a=>Math.exp(a-e)),n=r.reduce((a,i)=>a+i,0);return r.map(a=>a/n)}var Q=(t,e,r)=>e.map(([n,a])=>r==="dot"?t[0]*n+t[1]*a:-((t[0]-n)**2+(t[1]-a)**2)/2);function tt(t,e,r){let n=t.map(a=>a/r);if(e==="softmax")return K(n);if(e==="sparsemax")return dt(n);if(e==="relu")return n.map(a=>Math.max(a,0)/n.length);if(e==="none")return n;throw new Error(`weights must be softmax, sparsemax, relu or none, got “${e}”.`)}function dt(t){let e=t.slice().sort((a,i)=>i-a),[r,n]=[0,0];return e.forEach((a,i)=>{r+=a,1+(i+1)*a>r&&(n=(r-1)/(i+1))}),t.map(a=>Math.max(a-n,0))}var et=(t,e)=>{let r=n=>t.reduce((a,i,x)=>a+i*e[x][n],0);return[r(0),r(1)]};function at(t){let e=t.slice().sort((n,a)=>n[0]-a[0]||n[1]-a[1]),r=n=>{let a=[];for(let i of n){for(;a.length>1&&nt(a[a.length-2],a[a.length-1],i)<=0;)a.pop();a.push(i)}return a.slice(0,-1)};return e.length<3?e:[...r(e),...r(e.reverse())]}function rt(t,e){let r=e.length;return r<3?!0:e.every((n,a)=>nt(n,e[(a+1)%r],t)>=-1e-9)}var nt=(t,e,r)=>(e[0]-t[0])*(r[1]-t[1])-(e[1]-t[1])*(r[0]-t[0]);var y=3,M=360,ot=.1,I=t=>(t+y)/(2*y)*M,U=t=>(y-t)/(2*y)*M,it=t=>Math.round(Math.min(Math.max(t,-y),y)*100)/100,$t=Y({name:"lookup",title:"Soft lookup",keys:["query","values","names","score","weights","temperature"],setup({model:t,body:e,say:r,set:n,signal:a}){let i=Z({label:"Score",part:"score",value:t.get("score"),options:[{value:"dot",text:"dot product"},{value:"distance",text:"closeness"}],onChange:o=>n({score:o})}),x=Z({label:"Weights",part:"weigh",value:t.get("weights"),options:["softmax","sparsemax","relu","none"].map(o=>({value:o,text:o})),onChange:o=>n({weights:o})}),p=s("input",{type:"range",min:-2,max:2,step:.05,"data-part":"temperature","aria-label":"Temperature",style:"flex: 1 1 8rem; min-height: 28px; accent-color: var(--fig-query)",on:{input:()=>n({temperature:Math.round(10**Number(p.value)*1e3)/1e3})}}),E=s("span",{class:"attnlab-label",style:"min-width: 3.5rem"}),k=v("svg",{viewBox:`0 0 ${M} ${M}`,role:"group","aria-label":"The plane of keys and values; each point can be dragged, or moved with the arrow keys","data-part":"plane",style:"width: 100%; max-width: 26rem; height: auto; touch-action: none; display: block; margin: .8rem auto 0"}),A=s("tbody");e.append(s("div",{class:"attnlab-row"},s("span",{class:"attnlab-label"},"Score by"),i),s("div",{class:"attnlab-row"},s("span",{class:"attnlab-label"},"Weights by"),x),s("div",{class:"attnlab-row"},s("span",{class:"attnlab-label"},"Temperature"),p,E),k,s("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Table of numbers",style:"margin-top: .8rem"},s("table",{"data-part":"numbers"},s("thead",{},s("tr",{},...["point","x","y","score","weight"].map(o=>s("th",{scope:"col"},o)))),A)));let S=[],z=v("polygon",{fill:"var(--fig-value)","fill-opacity":.12,stroke:"var(--fig-value)","stroke-opacity":.5}),D=v("g",{}),L=v("circle",{r:9,fill:"var(--fig-output)","data-part":"output","pointer-events":"none"}),O=v("text",{fill:"var(--fig-output)","font-size":14,"text-anchor":"middle","pointer-events":"none"},"output"),F=o=>o==="query"?t.get("query"):t.get("values")[o];function B(o,h,d){let f=[it(h),it(d)];n(o==="query"?{query:f}:{values:t.get("values").map((c,g)=>g===o?f:c)})}function T(o,h){let d=o==="query"?"query":"value",f=o==="query"?v("path",{d:"M 0 -11 L 11 0 L 0 11 L -11 0 Z",fill:`var(--fig-${d})`}):v("circle",{r:9,fill:`var(--fig-${d})`}),c=v("g",{tabindex:0,role:"slider","data-part":"handle","data-which":o,"aria-valuemin":-y,"aria-valuemax":y,style:"cursor: grab"},v("circle",{r:20,fill:"transparent"}),f,v("text",{y:-15,"text-anchor":"middle","font-size":14,fill:"var(--fig-ink)"},h));return c.addEventListener("pointerdown",g=>{let q=g;c.setPointerCapture(q.pointerId);let $=j=>{let N=k.getBoundingClientRect();B(o,(j.clientX-N.left)/N.width*2*y-y,y-(j.clientY-N.top)/N.height*2*y)};c.addEventListener("pointermove",$,{signal:a});let w=()=>c.removeEventListener("pointermove",$);c.addEventListener("pointerup",w,{once:!0}),c.addEventListener("pointercancel",w,{once:!0})}),c.addEventListener("keydown",g=>{let q=g.key,$={ArrowRight:[1,0],ArrowLeft:[-1,0],ArrowUp:[0,1],ArrowDown:[0,-1]}[q];if(!$)return;g.preventDefault();let[w,j]=F(o);B(o,w+ot*$[0],j+ot*$[1])}),c}function P(){S=[...t.get("names").map((f,c)=>T(c,f)),T("query","query")];let h=v("path",{d:`M 0 ${M/2} H ${M} M ${M/2} 0 V ${M}`,stroke:"var(--fig-line)"}),d=v("rect",{x:.5,y:.5,width:M-1,height:M-1,fill:"none",stroke:"var(--fig-line)",rx:8});k.replaceChildren(d,h,z,D,...S,L,O)}function l(){let o=t.get("values"),h=t.get("names"),d=w=>Array.isArray(w)&&w.length===2&&w.every(Number.isFinite);if(!Array.isArray(o)||!o.length||!o.every(d)||o.length!==h.length)throw new Error("values must be points (x, y), one for each name.");if(!d(t.get("query")))throw new Error("query must be a point (x, y).");let f=Number(t.get("temperature"));if(!(f>0))throw new Error(`temperature must be positive, got ${t.get("temperature")}.`);let c=t.get("query"),g=Q(c,o,t.get("score")),q=tt(g,t.get("weights"),f),$=et(q,o);return{query:c,values:o,names:h,temperature:f,scores:g,weights:q,out:$,corners:at(o)}}function m(){let{query:o,values:h,names:d,temperature:f,scores:c,weights:g,out:q,corners:$}=l();S.length!==d.length+1&&P(),V(i,t.get("score")),V(x,t.get("weights")),p.value=String(Math.log10(f)),p.setAttribute("aria-valuetext",R(f,3)),E.textContent=R(f,f<1?3:2),S.forEach((u,b)=>{let C=b<d.length?b:"query",[_,J]=F(C);u.setAttribute("transform",`translate(${I(_)} ${U(J)})`);let lt=C==="query"?"query":`key and value ${d[b]}`;u.setAttribute("aria-label",lt),u.setAttribute("aria-valuenow",String(_)),u.setAttribute("aria-valuetext",`x ${R(_)}, y ${R(J)}`)}),z.setAttribute("points",$.map(([u,b])=>`${I(u)},${U(b)}`).join(" ")),D.replaceChildren(...h.map(([u,b],C)=>v("line",{x1:I(u),y1:U(b),x2:I(o[0]),y2:U(o[1]),stroke:g[C]<0?"var(--fig-key)":"var(--fig-query)","stroke-width":(.5+8*Math.min(Math.abs(g[C]),1)).toFixed(2),"stroke-opacity":Math.abs(g[C])<1e-9?.08:.45})));let w=q.map(u=>Math.min(Math.max(u,-y),y));L.setAttribute("cx",String(I(w[0]))),L.setAttribute("cy",String(U(w[1]))),O.setAttribute("x",String(I(w[0]))),O.setAttribute("y",String(U(w[1])+24));let j=(u,b,C)=>s("tr",{},s("th",{scope:"row"},u),...[b[0].toFixed(2),b[1].toFixed(2),...C].map(_=>s("td",{},_)));A.replaceChildren(j("query",o,["",""]),...h.map((u,b)=>j(d[b],u,[c[b].toFixed(4),g[b].toFixed(4)])),s("tr",{},s("th",{scope:"row"},"output"),...[q[0].toFixed(4),q[1].toFixed(4),"",g.reduce((u,b)=>u+b,0).toFixed(4)].map(u=>s("td",{},u))));let N=g.reduce((u,b)=>u+b,0),st=rt(q,$)?"inside the hull of the values":"outside the hull of the values",G=g.indexOf(Math.max(...g));r(`The weights sum to ${R(N)}; the largest is ${R(g[G])}, of ${d[G]}. The output is ${st}.`)}function H(){let o=c=>`torch.tensor(${JSON.stringify(t.get(c))}, dtype=torch.float64)`,h=t.get("temperature"),d=t.get("score")==="dot"?"values @ query":"-(values - query).square().sum(-1) / 2",f={softmax:"scores.softmax(z)",sparsemax:"scores.sparsemax(z)",relu:"scores.relu(z)",none:"z"};return`import torch

from attnlab import scores

query = ${o("query")}
values = ${o("values")}  # the keys too: ${t.get("names").join(", ")}
z = (${d}) / ${h}
weights = ${f[t.get("weights")]}
print(weights)
print(weights @ values)
`}return{update:m,pytorch:H,svg:()=>{let o=k.cloneNode(!0);return o.setAttribute("xmlns","http://www.w3.org/2000/svg"),Object.entries({query:"#0069a8",key:"#b04a00",value:"#00795a",output:"#a0307a",ink:"#1b1f24",line:"#d5dae0"}).reduce((d,[f,c])=>d.replaceAll(`var(--fig-${f})`,c),o.outerHTML)}}}});export{$t as default};
