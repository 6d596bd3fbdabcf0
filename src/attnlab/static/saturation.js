function c(t,e={},...r){let n=document.createElement(t);for(let[i,o]of Object.entries(e))if(i==="on")for(let[h,p]of Object.entries(o))n.addEventListener(h,p);else o===!0?n.setAttribute(i,""):o!=null&&o!==!1&&n.setAttribute(i,String(o));return n.append(...r.filter(i=>i!=null)),n}function k(t,e={},...r){let n=document.createElementNS("http://www.w3.org/2000/svg",t);for(let[i,o]of Object.entries(e))n.setAttribute(i,String(o));return n.append(...r),n}function C(t,e=2){if(t===-1/0)return"−∞";if(Math.abs(t)>=1e5)return t.toExponential(1).replace("-","−");let r=t.toFixed(e);return Number(r)===0?r.replace("-",""):r.replace("-","−")}function xt({label:t,options:e,value:r,part:n,onChange:i}){let o=e.map(p=>c("button",{type:"button",role:"radio","aria-checked":p.value===r?"true":"false",tabindex:p.value===r?0:-1,"data-value":p.value,on:{click:()=>i(p.value)}},p.text)),h=c("div",{class:"attnlab-choices",role:"radiogroup","aria-label":t,"data-part":n});return h.append(...o),h.addEventListener("keydown",p=>{let y={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[p.key],m=o.findIndex(R=>R===p.target);if(!y||m<0)return;p.preventDefault();let q=o[(m+y+o.length)%o.length];ut(h,q.dataset.value),q.focus(),i(q.dataset.value)}),h}function ut(t,e){for(let r of t.querySelectorAll("button")){let n=r.dataset.value===e;r.setAttribute("aria-checked",String(n)),r.tabIndex=n?0:-1}}function ft(t,e,r="query"){let n=Math.round(52*Math.min(Math.max(e,0),1)*10)/10;t.style.backgroundColor=`color-mix(in srgb, var(--fig-${r}) ${n}%, transparent)`}var _t={query:"#0069a8",key:"#b04a00",value:"#00795a",output:"#a0307a",ink:"#1b1f24",line:"#d5dae0"};function wt(t){let e=t.cloneNode(!0);return e.setAttribute("xmlns","http://www.w3.org/2000/svg"),Object.entries(_t).reduce((r,[n,i])=>r.replaceAll(`var(--fig-${n})`,i),e.outerHTML)}function vt(t,e,r){t.addEventListener("pointerdown",n=>{let i=new AbortController;t.setPointerCapture(n.pointerId),t.addEventListener("pointermove",o=>r(o),{signal:AbortSignal.any([e,i.signal])});for(let o of["pointerup","pointercancel"])t.addEventListener(o,()=>i.abort(),{once:!0})},{signal:e})}var kt=`/* The figures carry their own colours: in Lab and Colab there is no book theme around them. */
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
`;function Mt(t){return{name:t.name,keys:t.keys,async render({model:e,el:r,signal:n,place:i={}}){let o=new AbortController;n?.addEventListener("abort",()=>o.abort()),Dt(r);let h=Object.fromEntries(t.keys.map(u=>[u,structuredClone(e.get(u))])),p=c("div",{class:"attnlab-body"}),y=c("p",{class:"attnlab-status",role:"status","data-part":"status"}),m=c("p",{class:"attnlab-error",role:"alert","data-part":"error",hidden:!0}),q=c("div",{class:"attnlab-bar",role:"group","aria-label":`${t.title}: actions`}),R=c("div",{class:"attnlab-root","data-lm-suppress-shortcuts":"true","data-figure":t.name},p,m,y,q);r.replaceChildren(R);let H,Q=u=>{try{u(),m.hidden=!0}catch(M){console.warn("attnlab figure:",M),m.textContent=`This figure could not be drawn: ${M instanceof Error?M.message:M}`,m.hidden=!1}},F=()=>Q(()=>H?.update()),ot=u=>{for(let[M,K]of Object.entries(u))e.set(M,K);e.save_changes(),F()},_=u=>{y.textContent!==u&&(y.textContent=u)};try{H=await t.setup({model:e,body:p,say:_,set:ot,signal:o.signal,place:i})}catch(u){return Q(()=>{throw u}),()=>o.abort()}let st=()=>Object.fromEntries(t.keys.map(u=>[u,e.get(u)]));q.append(U("Reset","reset",()=>(ot(structuredClone(h)),"Reset.")),i.link?U("Copy link","link",()=>V(i.link(st()))):"",U("Copy as PyTorch","pytorch",()=>V(H.pytorch())),U("Save SVG","svg",()=>Nt(H.svg(),`attnlab-${t.name}.svg`))),F();for(let u of t.keys)e.on(`change:${u}`,F),o.signal.addEventListener("abort",()=>e.off?.(`change:${u}`,F));return()=>o.abort();function U(u,M,K){let X=c("button",{type:"button","data-part":M},u);return X.addEventListener("click",async()=>{try{_(await K())}catch(T){_(`That did not work: ${T instanceof Error?T.message:T}`)}}),X}async function V(u){R.querySelector(".attnlab-copied")?.remove();try{return await navigator.clipboard.writeText(u),"Copied."}catch{let M=c("textarea",{class:"attnlab-copied",readonly:!0,rows:Math.min(u.split(`
`).length,12),"aria-label":"Text to copy","data-part":"copied"});return M.value=u,q.after(M),M.focus(),M.select(),"The text is selected below: copy it with your keyboard."}}}}}function Nt(t,e){let r=URL.createObjectURL(new Blob([t],{type:"image/svg+xml"}));return c("a",{href:r,download:e}).click(),setTimeout(()=>URL.revokeObjectURL(r),1e4),`Saved ${e}.`}function Dt(t){t.classList.add("attnlab-figure");let e=t.getRootNode(),r=e instanceof Document?e.head:e instanceof ShadowRoot?e:t;if(r.querySelector?.("style[data-attnlab]"))return;let n=c("style",{"data-attnlab":!0});n.textContent=kt,r.append(n)}function $t(t){let e=Math.max(...t);if(e===-1/0)return t.map(()=>0);let r=t.map(i=>Math.exp(i-e)),n=r.reduce((i,o)=>i+o,0);return r.map(i=>i/n)}var J=64,D=8,O=Array.from({length:11},(t,e)=>2**e),it=1024;function qt(t){return t=Math.imul(t^t>>>16,2246822507),t=Math.imul(t^t>>>13,3266489909),(t^t>>>16)>>>0}function Ht(t,e){let r=qt(t+2654435769),n=o=>(qt(o+r>>>0)+.5)/2**32,i=new Float64Array(e);for(let o=0;o<e;o+=2){let h=Math.sqrt(-2*Math.log(n(o))),p=2*Math.PI*n(o+1);i[o]=h*Math.cos(p),i[o+1]=h*Math.sin(p)}return i}function St(t){let e=Ht(t,J*(1+D)*it),r=O.map(()=>Array.from({length:J},()=>new Array(D).fill(0)));for(let n=0;n<J;n++){let i=n*(1+D)*it;for(let o=0;o<D;o++){let h=i+(1+o)*it,[p,y]=[0,0];for(let m=0;m<it;m++)p+=e[i+m]*e[h+m],m+1===O[y]&&(r[y++][n][o]=p)}}return r}function gt(t){let e=$t(t),r=e.reduce((h,p)=>p>0?h-p*Math.log(p):h,0),n=e.map((h,p)=>e.reduce((y,m,q)=>q===p?y:y+h*m,0)),i=0;e.forEach((h,p)=>e.forEach((y,m)=>i+=(p===m?n[p]:h*y)**2));let o=Math.sqrt(i);return{weights:e,slopes:n,entropy:r,share:r/Math.log(t.length),largest:Math.max(...n),norm:o,left:o/Math.sqrt(t.length)}}function At(t){let e=t.slice().sort((n,i)=>n-i),r=e.length>>1;return e.length%2?e[r]:(e[r-1]+e[r])/2}function lt(t){let e=t.reduce((r,n)=>r+n,0)/t.length;return Math.sqrt(t.reduce((r,n)=>r+(n-e)**2,0)/t.length)}function Et(t,e,r){let n=new Array(r).fill(0);for(let i of t){let o=Math.floor((i+e)/(2*e)*r);n[Math.min(Math.max(o,0),r-1)]+=1}return n}var $=4,ct=.1,dt=.01,Z=300,A=6,ht=32,[rt,Ct,G,nt,L,I]=[92,70,200,12,358,72],Ft=[["entropy (nats)","entropy",Math.log(D)],["entropy / ln n","share",1],["largest Jacobian entry","largest",.25],["norm of the Jacobian","norm",.5],["left of a gradient of 1","left",.5/Math.SQRT2]],pt=t=>t===0?"0":t>=.001?t.toFixed(4):t.toExponential(1),Xt=Mt({name:"saturation",title:"Temperature and √d",keys:["scores","names","d_k","temperature","scaled","seed"],setup({model:t,body:e,say:r,set:n,signal:i}){let o,h=a=>(o?.seed!==a&&(o={seed:a,scores:St(a)}),o.scores),p=(a,l,d,s)=>{let f=c("input",{type:"range",...d,"data-part":a,"aria-label":l,style:"flex: 1 1 7rem; min-width: 0; min-height: 28px; accent-color: var(--fig-query)",on:{input:()=>s(Number(f.value))}});return f},y=(...a)=>c("span",{class:"attnlab-label",style:"flex: none; width: 6rem"},...a),m=()=>c("span",{style:"min-width: 3.2rem; font-variant-numeric: tabular-nums"}),q=p("width","Width d_k",{min:0,max:O.length-1,step:1},a=>n({d_k:O[a]})),R=p("temperature","Temperature",{min:-2,max:2,step:.05},a=>n({temperature:Math.round(10**a*1e3)/1e3})),[H,Q]=[m(),m()],F=xt({label:"Divide by the root of d_k",part:"scale",value:"on",options:[{value:"on",text:"yes"},{value:"off",text:"no"}],onChange:a=>n({scaled:a==="on"})}),ot=c("button",{type:"button","data-part":"draw",on:{click:()=>n({seed:t.get("seed")+1,scores:[]})}},"New samples"),_=k("svg",{viewBox:`0 0 ${Z} ${L+22}`,role:"group","aria-label":"Sampled scores, and below them the row of scores with its weights; each score can be dragged, or moved with the arrow keys","data-part":"plane",style:"flex: 1 1 17rem; min-width: 0; width: 100%; max-width: 26rem; height: auto; display: block"}),[st,U]=[c("tbody"),c("tbody")],V=(a,l,d,s)=>c("div",{class:"attnlab-scroll attnlab-tight",tabindex:0,role:"group","aria-label":l,style:"margin-bottom: .8rem"},c("table",{"data-part":a},c("thead",{},c("tr",{},...d.map(f=>c("th",{scope:"col"},f)))),s));e.append(c("div",{class:"attnlab-row",style:"flex-wrap: nowrap"},y("Width d",c("sub",{},"k")),q,H),c("div",{class:"attnlab-row",style:"flex-wrap: nowrap"},y("Temperature"),R,Q),c("div",{class:"attnlab-row"},y("Divide by √d"),F,ot),c("div",{style:"display: flex; flex-wrap: wrap; gap: 0 1.6rem; align-items: flex-start; margin-top: .8rem"},_,c("div",{style:"flex: 1 1 17rem; min-width: 0"},V("measures","Measures of this row and of the sampled rows",["measure","this row",`median of ${J} rows`],U),V("numbers","The row of scores",["key","score","weight p","slope p(1 − p)"],st))));let u=(a,l="")=>k("text",{"font-size":11,fill:"var(--fig-ink)",...a},l),M=k("g",{}),K=k("g",{}),X=u({x:A,y:12}),T=[],Y=()=>(Z-2*A)/t.get("names").length,tt=a=>A+(a+.5)*Y(),mt=a=>Math.round(Math.min(Math.max(a,-$),$)*100)/100;function et(){if(t.get("scores").length)return t.get("scores");let a=Math.sqrt(t.get("d_k"));return h(t.get("seed"))[O.indexOf(t.get("d_k"))][0].slice(0,t.get("names").length).map(l=>l/a)}let bt=(a,l)=>n({scores:et().map((d,s)=>mt(s===a?l:d))});function Tt(a,l){let d=k("g",{tabindex:0,role:"slider","data-part":"handle","data-which":l,"aria-label":`score of key ${a}`,"aria-orientation":"vertical","aria-valuemin":-$,"aria-valuemax":$,style:"cursor: ns-resize; touch-action: none"},k("rect",{x:-Y()/2,y:G-$*nt-14,width:Y(),height:2*$*nt+20,fill:"transparent"}),k("line",{y1:G,y2:G,stroke:"var(--fig-key)","stroke-width":3}),k("circle",{r:8,fill:"var(--fig-key)"}),u({"text-anchor":"middle","font-size":10}));return d.setAttribute("transform",`translate(${tt(l)} 0)`),vt(d,i,s=>{let f=_.getBoundingClientRect();bt(l,(G-(s.clientY-f.top)/f.width*Z)/nt)}),d.addEventListener("keydown",s=>{let f=s.key,S={ArrowUp:ct,ArrowRight:ct,ArrowDown:-ct,ArrowLeft:-ct,PageUp:1,PageDown:-1}[f],g=S?et()[l]+S:{Home:-$,End:$}[f];g!==void 0&&(s.preventDefault(),bt(l,g))}),d}function zt(){let a=t.get("names");T=a.map(Tt);let l=s=>k("path",{d:`M ${A} ${s} H ${Z-A}`,stroke:"var(--fig-line)"}),d=s=>s.length*6>Y()?`${s.slice(0,Math.floor(Y()/6)-1)}…`:s;_.replaceChildren(M,X,l(rt),l(G),u({x:A,y:G-$*nt-18},"this row’s scores (drag them)"),...T,l(L),K,...a.map((s,f)=>u({x:tt(f),y:L+14,"text-anchor":"middle"},d(s))))}function yt(){let[a,l,d,s]=["names","scores","d_k","seed"].map(x=>t.get(x)),f=Number(t.get("temperature"));if(!Array.isArray(a)||a.length<2||a.length>D)throw new Error(`names must be 2 to ${D} names.`);let S=x=>Number.isFinite(x)&&Math.abs(x)<=$;if(!Array.isArray(l)||l.length&&l.length!==a.length||!l.every(S))throw new Error(`scores must be numbers between -${$} and ${$}, one for each name, or none.`);if(!O.includes(d))throw new Error(`d_k must be a power of two from 1 to 1024, got ${d}.`);if(!(f>0))throw new Error(`temperature must be positive, got ${t.get("temperature")}.`);if(!Number.isInteger(s)||s<0)throw new Error(`seed must be a whole number, 0 or larger, got ${s}.`);let g=!!t.get("scaled"),W=g?1/Math.sqrt(d):1,P=h(s)[O.indexOf(d)].map(x=>x.map(w=>w*W)),b=et().map(x=>g?x:x*Math.sqrt(d)),j=gt(b.map(x=>x/f)),z=P.map(x=>gt(x.slice(0,a.length).map(w=>w/f)));return{names:a,d_k:d,T:f,scaled:g,samples:P,row:b,ours:j,theirs:z}}function Lt(a,l,d){let s=4*d,f=b=>A+(Math.min(Math.max(b,-s),s)+s)/(2*s)*(Z-2*A),S=Et(a,s,ht),g=b=>Math.min(b*d/.4*.72*Ct,Ct),W=2*s/ht,P=b=>Array.from({length:193},(j,z)=>{let x=-s+z/192*2*s,w=rt-g(Math.exp(-((x/b)**2)/2)/(b*Math.sqrt(2*Math.PI)));return`${z?"L":"M"} ${f(x).toFixed(1)} ${w.toFixed(1)}`}).join(" ");M.replaceChildren(...S.map((b,j)=>{let z=g(b/a.length/W);return k("rect",{x:f(-s+j*W)+.5,y:rt-z,width:(Z-2*A)/ht-1,height:z,fill:"var(--fig-key)","fill-opacity":.45})}),k("path",{d:P(1),fill:"none",stroke:"var(--fig-ink)","stroke-width":1.2,"stroke-dasharray":"4 3"}),...l.map(b=>k("path",{d:`M ${f(b)} ${rt+1} l 4 7 h -8 Z`,fill:"var(--fig-key)"})),...[-.75,-.5,-.25,0,.25,.5,.75].map(b=>u({x:f(b*s),y:rt+20,"text-anchor":"middle","font-size":10},C(b*s,Number.isInteger(b*s)?0:1)))),X.textContent=`${a.length} sampled scores: spread ${C(lt(a))}, dashed: spread 1`}function Ot(a){let l=Math.min(Y()/3,16);K.replaceChildren(k("rect",{x:A,y:L-I-35,width:9,height:9,fill:"var(--fig-query)"}),u({x:A+13,y:L-I-27},"weight p"),k("rect",{x:A+74,y:L-I-35,width:9,height:9,fill:"none",stroke:"var(--fig-ink)","stroke-width":1.4}),u({x:A+87,y:L-I-27},"slope p(1 − p), four times as high"),...a.weights.flatMap((d,s)=>[k("rect",{x:tt(s)-l,y:L-I*d,width:l,height:I*d,fill:"var(--fig-query)"}),k("rect",{x:tt(s)+1,y:L-I*4*a.slopes[s],width:l-1,height:I*4*a.slopes[s],fill:"none",stroke:"var(--fig-ink)","stroke-width":a.slopes[s]<.002?0:1.4}),u({x:tt(s),y:L-I*Math.max(d,4*a.slopes[s])-5,"text-anchor":"middle","font-size":10},C(d))]))}function It(){let{names:a,d_k:l,T:d,scaled:s,samples:f,row:S,ours:g,theirs:W}=yt();T.length!==a.length&&zt(),q.value=String(O.indexOf(l)),q.setAttribute("aria-valuetext",String(l)),H.textContent=String(l),R.value=String(Math.log10(d)),Q.textContent=C(d,d<1?3:2),R.setAttribute("aria-valuetext",C(d,3)),ut(F,s?"on":"off");let P=f.flat();Lt(P,S,s?1:Math.sqrt(l)),Ot(g),et().forEach((w,v)=>{let E=G-nt*Math.min(Math.max(w,-$),$),[,N,B,at]=T[v].children;N.setAttribute("y2",String(E)),B.setAttribute("cy",String(E)),at.setAttribute("y",String(w<0?E+19:E-11)),at.textContent=C(S[v],Math.abs(S[v])<10?1:0),T[v].setAttribute("aria-valuenow",String(mt(w))),T[v].setAttribute("aria-valuetext",`${C(S[v])}, weight ${C(g.weights[v])}`)}),st.replaceChildren(...a.map((w,v)=>{let E=[S[v].toFixed(4),pt(g.weights[v]),pt(g.slopes[v])].map(N=>c("td",{},N));return ft(E[1],g.weights[v]),c("tr",{},c("th",{scope:"row"},w),...E)}));let b=W.filter(w=>w.largest<dt).length,j=(w,v,E=[])=>c("tr",{},c("th",{scope:"row",style:"text-align: left"},w),...v.map((N,B)=>{let at=c("td",{},N);return E.length&&ft(at,E[B]),at}));U.replaceChildren(j("spread of the scores",[lt(S).toFixed(4),lt(P).toFixed(4)]),...Ft.map(([w,v,E])=>{let N=[g[v],At(W.map(B=>B[v]))];return j(w,N.map(pt),N.map(B=>B/E))}),j(`largest entry < ${dt}`,[g.largest<dt?"yes":"no",`${b} of ${J}`]));let z=g.weights.indexOf(Math.max(...g.weights)),x=g.largest<dt?"saturated, next to no gradient passes":g.share>.99?"nearly uniform":"open, a gradient passes";r(`Key ${a[z]} has weight ${C(g.weights[z])}; entropy is ${C(100*g.share,0)} % of ln ${a.length}; the largest slope is ${pt(g.largest)}: ${x}. Of ${J} sampled rows, ${b} are saturated.`)}function Rt(){let{T:a,d_k:l,scaled:d}=yt();return`import torch

scores = torch.tensor(${JSON.stringify(et())}, dtype=torch.float64)  # q·k / sqrt(d_k), of ${JSON.stringify(t.get("names"))}
z = scores${d?"":` * ${l} ** 0.5  # not scaled`}
z = z / ${a}  # the temperature
weights = z.softmax(-1)
jacobian = torch.autograd.functional.jacobian(lambda z: z.softmax(-1), z)
print("weights", weights.tolist())
print("entropy", torch.special.entr(weights).sum().item(), "largest", jacobian.max().item(), "norm", jacobian.norm().item())
`}return{update:It,pytorch:Rt,svg:()=>wt(_)}}});export{Xt as default};
