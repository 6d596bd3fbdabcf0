"use strict";(()=>{function s(t,e={},...r){let a=document.createElement(t);for(let[n,o]of Object.entries(e))if(n==="on")for(let[d,u]of Object.entries(o))a.addEventListener(d,u);else o===!0?a.setAttribute(n,""):o!=null&&o!==!1&&a.setAttribute(n,String(o));return a.append(...r.filter(n=>n!=null)),a}function N(t,e={},...r){let a=document.createElementNS("http://www.w3.org/2000/svg",t);for(let[n,o]of Object.entries(e))a.setAttribute(n,String(o));return a.append(...r),a}function _(t,e=2){if(t===-1/0)return"−∞";if(Math.abs(t)>=1e5)return t.toExponential(1).replace("-","−");let r=t.toFixed(e);return Number(r)===0?r.replace("-",""):r.replace("-","−")}function ot({label:t,options:e,value:r,part:a,onChange:n}){let o=e.map(u=>s("button",{type:"button",role:"radio","aria-checked":u.value===r?"true":"false",tabindex:u.value===r?0:-1,"data-value":u.value,on:{click:()=>n(u.value)}},u.text)),d=s("div",{class:"attnlab-choices",role:"radiogroup","aria-label":t,"data-part":a});return d.append(...o),d.addEventListener("keydown",u=>{let m={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[u.key],x=o.findIndex(L=>L===u.target);if(!m||x<0)return;u.preventDefault();let O=o[(x+m+o.length)%o.length];at(d,O.dataset.value),O.focus(),n(O.dataset.value)}),d}function at(t,e){for(let r of t.querySelectorAll("button")){let a=r.dataset.value===e;r.setAttribute("aria-checked",String(a)),r.tabIndex=a?0:-1}}function mt(t,e,r="query"){let a=Math.round(52*Math.min(Math.max(e,0),1)*10)/10;t.style.backgroundColor=`color-mix(in srgb, var(--fig-${r}) ${a}%, transparent)`}var At=t=>t.replace(/[&<>"]/g,e=>`&#${e.charCodeAt(0)};`),$e={query:"#0069a8",key:"#b04a00",value:"#00795a",output:"#a0307a",ink:"#1b1f24",line:"#d5dae0"};function Et(t){let e=t.cloneNode(!0);return e.setAttribute("xmlns","http://www.w3.org/2000/svg"),Object.entries($e).reduce((r,[a,n])=>r.replaceAll(`var(--fig-${a})`,n),e.outerHTML)}function _t(t,e,r){t.addEventListener("pointerdown",a=>{let n=new AbortController;t.setPointerCapture(a.pointerId),t.addEventListener("pointermove",o=>r(o),{signal:AbortSignal.any([e,n.signal])});for(let o of["pointerup","pointercancel"])t.addEventListener(o,()=>n.abort(),{once:!0})},{signal:e})}var Bt=`/* The figures carry their own colours: in Lab and Colab there is no book theme around them. */
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
`;function ut(t){return{name:t.name,keys:t.keys,async render({model:e,el:r,signal:a,place:n={}}){let o=new AbortController;a?.addEventListener("abort",()=>o.abort()),Se(r);let d=Object.fromEntries(t.keys.map($=>[$,structuredClone(e.get($))])),u=s("div",{class:"attnlab-body"}),m=s("p",{class:"attnlab-status",role:"status","data-part":"status"}),x=s("p",{class:"attnlab-error",role:"alert","data-part":"error",hidden:!0}),O=s("div",{class:"attnlab-bar",role:"group","aria-label":`${t.title}: actions`}),L=s("div",{class:"attnlab-root","data-lm-suppress-shortcuts":"true","data-figure":t.name},u,x,m,O);r.replaceChildren(L);let F,U=$=>{try{$(),x.hidden=!0}catch(j){console.warn("attnlab figure:",j),x.textContent=`This figure could not be drawn: ${j instanceof Error?j.message:j}`,x.hidden=!1}},I=()=>U(()=>F?.update()),z=$=>{for(let[j,Q]of Object.entries($))e.set(j,Q);e.save_changes(),I()},C=$=>{m.textContent!==$&&(m.textContent=$)};try{F=await t.setup({model:e,body:u,say:C,set:z,signal:o.signal,place:n})}catch($){return U(()=>{throw $}),()=>o.abort()}let B=()=>Object.fromEntries(t.keys.map($=>[$,e.get($)]));O.append(D("Reset","reset",()=>(z(structuredClone(d)),"Reset.")),n.link?D("Copy link","link",()=>K(n.link(B()))):"",D("Copy as PyTorch","pytorch",()=>K(F.pytorch())),D("Save SVG","svg",()=>Ae(F.svg(),`attnlab-${t.name}.svg`))),I();for(let $ of t.keys)e.on(`change:${$}`,I),o.signal.addEventListener("abort",()=>e.off?.(`change:${$}`,I));return()=>o.abort();function D($,j,Q){let v=s("button",{type:"button","data-part":j},$);return v.addEventListener("click",async()=>{try{C(await Q())}catch(M){C(`That did not work: ${M instanceof Error?M.message:M}`)}}),v}async function K($){L.querySelector(".attnlab-copied")?.remove();try{return await navigator.clipboard.writeText($),"Copied."}catch{let j=s("textarea",{class:"attnlab-copied",readonly:!0,rows:Math.min($.split(`
`).length,12),"aria-label":"Text to copy","data-part":"copied"});return j.value=$,O.after(j),j.focus(),j.select(),"The text is selected below: copy it with your keyboard."}}}}}function Ae(t,e){let r=URL.createObjectURL(new Blob([t],{type:"image/svg+xml"}));return s("a",{href:r,download:e}).click(),setTimeout(()=>URL.revokeObjectURL(r),1e4),`Saved ${e}.`}function Se(t){t.classList.add("attnlab-figure");let e=t.getRootNode(),r=e instanceof Document?e.head:e instanceof ShadowRoot?e:t;if(r.querySelector?.("style[data-attnlab]"))return;let a=s("style",{"data-attnlab":!0});a.textContent=Bt,r.append(a)}var It=(t,e)=>t.map(r=>e[0].map((a,n)=>r.reduce((o,d,u)=>o+d*e[u][n],0))),Me=t=>t[0].map((e,r)=>t.map(a=>a[r]));function dt(t){let e=Math.max(...t);if(e===-1/0)return t.map(()=>0);let r=t.map(n=>Math.exp(n-e)),a=r.reduce((n,o)=>n+o,0);return r.map(n=>n/a)}function Ht({x:t,wq:e,wk:r,wv:a,scale:n=null,causal:o=!1}){let[d,u,m]=[e,r,a].map(U=>It(t,U)),x=It(d,Me(u)),O=n??1/Math.sqrt(d[0].length),L=x.map((U,I)=>U.map((z,C)=>o&&C>I?-1/0:z*O)),F=L.map(dt);return{q:d,k:u,v:m,scores:x,factor:O,scaled:L,weights:F,output:It(F,m)}}function Kt(t,e,r){let a=t.length,n=0;for(let u=0;u<a;u++)n+=t[u]/a;let o=0;for(let u=0;u<a;u++)o+=(t[u]-n)**2/a;let d=Math.sqrt(o+1e-5);return Array.from({length:a},(u,m)=>(t[m]-n)/d*e[m]+r[m])}function Qt(t,e){let r=t.slice();for(let a=0;a<t.length;a+=2){let n=e*1e4**(-a/t.length),[o,d]=[Math.cos(n),Math.sin(n)];r[a]=t[a]*o-t[a+1]*d,r[a+1]=t[a]*d+t[a+1]*o}return r}var qe=["Input","Q, K, V","Scores","Scaled","Weights","Output"],Ee=["one row of numbers for each token.","three views of every token: what it looks for, offers and passes on.","every query against every key.","the scores, made smaller so that their spread does not grow with the width.","each row becomes shares that sum to one.","each row is a weighted mean of the values."],St={X:"X",Wq:"W_q",Wk:"W_k",Wv:"W_v"},_e=["X","Q","S","scaled","A","O"],Oe={X:"X",Wq:"W_q",Wk:"W_k",Wv:"W_v",Q:"Q = X W_q",K:"K = X W_k",V:"V = X W_v",S:"scores = Q Kᵀ",scaled:"scaled scores",A:"weights",O:"output = weights · V"},Vt={Wq:"query",Q:"query",Wk:"key",K:"key",Wv:"value",V:"value",O:"output"},zt=1e6,Jt=ut({name:"calculator",title:"Attention calculator",keys:["X","W_q","W_k","W_v","tokens","stage","focus","scale","causal"],setup({model:t,body:e,say:r,set:a}){let n=[],o,d="",u=i=>a({stage:Math.min(Math.max(i,1),6),focus:[0,0]}),m=ot({label:"Stage",part:"stages",value:String(t.get("stage")),options:qe.map((i,l)=>({value:String(l+1),text:`${l+1} ${i}`})),onChange:i=>u(Number(i))}),x=s("button",{type:"button","data-part":"previous",on:{click:()=>u(t.get("stage")-1)}},"← Back"),O=s("button",{type:"button","data-part":"next",on:{click:()=>u(t.get("stage")+1)}},"Next →"),L=s("button",{type:"button","data-part":"undo",on:{click:C}},"Undo"),F=s("input",{type:"checkbox","data-part":"causal",on:{change:()=>B({causal:F.checked})}}),U=s("p",{class:"attnlab-formula","data-part":"formula","aria-live":"polite"}),I=s("div",{class:"attnlab-mats"}),z=s("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Weights and output"});e.append(m,s("div",{class:"attnlab-row"},x,O,L,s("label",{style:"display: inline-flex; gap: .4rem; align-items: center; min-height: 32px"},F,"hide later tokens")),I,U,s("details",{open:!0},s("summary",{},"Weights and output as a table"),z));function C(){let i=n.pop();i?a(i):r("There is nothing to undo.")}function B(i){n.push(Object.fromEntries(Object.keys(i).map(l=>[l,structuredClone(t.get(l))]))),a(i)}function D(){let[i,l,p,w]=Object.values(St).map(S=>Te(S,t.get(S)));for(let[S,y]of[["W_q",l],["W_k",p],["W_v",w]])if(y.length!==i[0].length)throw new Error(`${S} must have as many rows as X has columns (${i[0].length}), it has ${y.length}.`);if(l[0].length!==p[0].length)throw new Error(`W_q and W_k must have as many columns as each other, they have ${l[0].length} and ${p[0].length}.`);return o=Ht({x:i,wq:l,wk:p,wv:w,scale:t.get("scale"),causal:!!t.get("causal")}),{X:i,Wq:l,Wk:p,Wv:w,Q:o.q,K:o.k,V:o.v,S:o.scores,scaled:o.scaled,A:o.weights,O:o.output}}function K(){let i=D(),l=Number(t.get("stage")),p=t.get("tokens");if(p.length!==i.X.length)throw new Error(`tokens must name the ${i.X.length} rows of X, it names ${p.length}.`);at(m,String(l)),x.disabled=l<=1,O.disabled=l>=6,F.checked=!!t.get("causal");let w=[["X"],["X","Wq","Wk","Wv","Q","K","V"],["Q","K","S"],["S","scaled"],["scaled","A"],["A","V","O"]][l-1],S=_e[l-1],y=$(i,S),c=JSON.stringify([l,p,w.map(f=>[i[f].length,i[f][0].length])]);c!==d&&(d=c,I.replaceChildren(...w.map(f=>j(f,i[f],p))));let h=A(y);for(let f of w)W(f,i[f],y,h);let g=k(i,y,p);U.textContent=g,b(i,p),r(`Stage ${l} of 6: ${Ee[l-1]}`)}function $(i,l){let p=t.get("focus"),w=p.length>2&&i[p[2]]?p[2]:l;return{name:w,row:Math.min(Number(p[0])||0,i[w].length-1),column:Math.min(Number(p[1])||0,i[w][0].length-1)}}function j(i,l,p){let w=!i.startsWith("W"),S=["S","scaled","A"].includes(i),y=l.map((h,g)=>s("tr",{},s("th",{scope:"row"},w?p[g]:String(g+1)),...h.map((f,E)=>{let X={"data-row":g,"data-column":E,"aria-label":`${i} row ${g+1} column ${E+1}`},R=i in St?Q(i,g,E,X):v(i,g,E,X);return s("td",{class:"attnlab-cell"},R)}))),c=l[0].map((h,g)=>s("th",{scope:"col"},S?p[g]:String(g+1)));return s("div",{class:"attnlab-scroll"},s("table",{"data-part":`matrix-${i}`,on:{keydown:M}},s("caption",{class:Vt[i]?`is-${Vt[i]}`:""},Oe[i]+(i==="scaled"?` = scores × ${_(o.factor,3)}`:"")),s("thead",{},s("tr",{},s("td",{style:"border: 0"}),...c)),s("tbody",{},...y)))}function Q(i,l,p,w){let S=s("input",{...w,type:"text",inputmode:"decimal"}),y=St[i];return S.addEventListener("focus",()=>a({focus:[l,p,i]})),S.addEventListener("change",()=>{let c=Pt(S.value);if(S.setAttribute("aria-invalid",String(c===null)),c===null){r(`“${S.value}” is not a number from −${zt} to ${zt}. ${y} row ${l+1}, column ${p+1} stays ${_(t.get(y)[l][p])}.`);return}let h=structuredClone(t.get(y));h[l][p]=c,B({[y]:h})}),S}function v(i,l,p,w){return s("button",{...w,type:"button",on:{click:()=>a({focus:[l,p,i]})}})}function M(i){let l=i.target,p={ArrowRight:[0,1],ArrowLeft:[0,-1],ArrowDown:[1,0],ArrowUp:[-1,0]}[i.key];if(i.key==="Enter"&&l.dispatchEvent(new Event("change")),!p||l instanceof HTMLInputElement&&p[1]&&l.selectionStart!==l.selectionEnd)return;let w=l.closest("table")?.querySelector(`[data-row="${Number(l.dataset.row)+p[0]}"][data-column="${Number(l.dataset.column)+p[1]}"]`);w instanceof HTMLElement&&(i.preventDefault(),w.focus(),w instanceof HTMLButtonElement&&w.click())}function W(i,l,p,w){for(let S of I.querySelectorAll(`[data-part="matrix-${i}"] [data-row]`)){let y=S,[c,h]=[Number(y.dataset.row),Number(y.dataset.column)],g=l[c][h];y.tagName!=="INPUT"?(y.textContent=_(g,i==="A"?3:2),y.setAttribute("aria-label",`${y.textContent}, ${i} row ${c+1} column ${h+1}`)):(document.activeElement!==y||Pt(y.value)!==null)&&(y.value=String(g));let f=y.parentElement;f.classList.toggle("is-focus",p.name===i&&p.row===c&&p.column===h),f.classList.toggle("is-source",w(i,c,h)),i==="A"&&mt(f,g)}}function b(i,l){let p=["token",...l.map(w=>`takes of ${w}`),...i.O[0].map((w,S)=>`output ${S+1}`)];z.replaceChildren(s("table",{"data-part":"numbers"},s("thead",{},s("tr",{},...p.map(w=>s("th",{scope:"col"},w)))),s("tbody",{},...l.map((w,S)=>s("tr",{},s("th",{scope:"row"},w),...[...i.A[S],...i.O[S]].map(y=>s("td",{},y.toFixed(4))))))))}function A({name:i,row:l,column:p}){let w={Q:["X","Wq"],K:["X","Wk"],V:["X","Wv"],S:["Q","K"],scaled:["S"],A:["scaled"],O:["A","V"]},[S,y]=w[i]??[];return(c,h,g)=>i==="scaled"?c==="S"&&h===l&&g===p:i==="S"?c==="Q"&&h===l||c==="K"&&h===p:c===S?h===l:c===y&&g===p}function k(i,{name:l,row:p,column:w},S){let y=i[l][p][w],c=(f,E)=>f.map((X,R)=>`${_(X)} × ${X===f[R]&&E[R]<0?`(${_(E[R])})`:_(E[R])}`).join(" + "),h=(f,E)=>f.map(X=>X[E]),g=`[${p+1}, ${w+1}]`;if(l in St){let f=l==="X"?`the vector of “${S[p]}”`:`what input ${p+1} adds to entry ${w+1}`;return`${St[l]}${g} = ${_(y)}: ${f}. Type to change it.`}if(l==="Q"||l==="K"||l==="V")return`${l}${g} = ${c(i.X[p],h(i[`W${l.toLowerCase()}`],w))} = ${_(y)}`;if(l==="S")return`score${g}: query of “${S[p]}” · key of “${S[w]}” = ${c(i.Q[p],i.K[w])} = ${_(y)}`;if(l==="scaled"){if(y===-1/0)return`scaled${g} = −∞: “${S[w]}” comes later and is hidden.`;let f=t.get("scale")===null||t.get("scale")===void 0?`/ √${i.Q[0].length}`:`× ${_(o.factor,3)}`;return`scaled${g} = ${_(i.S[p][w])} ${f} = ${_(y)}`}if(l==="A"){let f=i.scaled[p].map(E=>E===-1/0?"0":`e^${_(E)}`);return`weight${g} = ${f[w]} / (${f.join(" + ")}) = ${_(y,3)}: “${S[p]}” takes ${_(100*y,1)} % of “${S[w]}”`}return`output${g} = ${c(i.A[p],h(i.V,w))} = ${_(y)}`}function T(){let i=p=>`torch.tensor(${JSON.stringify(t.get(p))}, dtype=torch.float64)`,l=t.get("scale");return`import torch

from attnlab import attention

x = ${i("X")}  # one row a token: ${t.get("tokens").join(", ")}
w_q = ${i("W_q")}
w_k = ${i("W_k")}
w_v = ${i("W_v")}
output, weights = attention(
    x @ w_q, x @ w_k, x @ w_v, scale=${l??"None"}, is_causal=${t.get("causal")?"True":"False"}, need_weights=True
)
print(weights)
print(output)
`}function q(){let{A:i}=D(),l=t.get("tokens"),p=i.flatMap((h,g)=>h.map((f,E)=>`<rect x="${80+E*64}" y="${36+g*40}" width="64" height="40" fill="#0069a8" fill-opacity="${(.52*f).toFixed(3)}" stroke="#d5dae0"/><text x="${112+E*64}" y="${61+g*40}">${_(f,3)}</text>`)),w=l.map((h,g)=>`<text x="40" y="${61+g*40}">${At(h)}</text>`),S=l.map((h,g)=>`<text x="${112+g*64}" y="26">${At(h)}</text>`),[y,c]=[90+64*l.length,46+40*l.length];return`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${y} ${c}" width="${y}" height="${c}" font-family="sans-serif" font-size="15" fill="#1b1f24" text-anchor="middle">${[...p,...w,...S].join("")}</svg>`}return{update:K,pytorch:T,svg:q}}});function Pt(t){let e=t.trim().replace("−","-").replace(",","."),r=e===""?NaN:Number(e);return Number.isFinite(r)&&Math.abs(r)<=zt?r:null}function Te(t,e){if(!(Array.isArray(e)&&e.length>0&&e.every(a=>Array.isArray(a)&&a.length>0&&a.length===e[0].length&&a.every(Number.isFinite))))throw new Error(`${t} must be rows of numbers, all of one length.`);return e}var Zt=(t,e,r)=>e.map(([a,n])=>r==="dot"?t[0]*a+t[1]*n:-((t[0]-a)**2+(t[1]-n)**2)/2);function Gt(t,e,r){let a=t.map(n=>n/r);if(e==="softmax")return dt(a);if(e==="sparsemax")return We(a);if(e==="relu")return a.map(n=>Math.max(n,0)/a.length);if(e==="none")return a;throw new Error(`weights must be softmax, sparsemax, relu or none, got “${e}”.`)}function We(t){let e=t.slice().sort((n,o)=>o-n),[r,a]=[0,0];return e.forEach((n,o)=>{r+=n,1+(o+1)*n>r&&(a=(r-1)/(o+1))}),t.map(n=>Math.max(n-a,0))}var Yt=(t,e)=>{let r=a=>t.reduce((n,o,d)=>n+o*e[d][a],0);return[r(0),r(1)]};function te(t){let e=t.slice().sort((a,n)=>a[0]-n[0]||a[1]-n[1]),r=a=>{let n=[];for(let o of a){for(;n.length>1&&ae(n[n.length-2],n[n.length-1],o)<=0;)n.pop();n.push(o)}return n.slice(0,-1)};return e.length<3?e:[...r(e),...r(e.reverse())]}function ee(t,e){let r=e.length;return r<3?!0:e.every((a,n)=>ae(a,e[(n+1)%r],t)>=-1e-9)}var ae=(t,e,r)=>(e[0]-t[0])*(r[1]-t[1])-(e[1]-t[1])*(r[0]-t[0]);var Z=3,rt=360,re=.1,wt=t=>(t+Z)/(2*Z)*rt,xt=t=>(Z-t)/(2*Z)*rt,ne=t=>Math.round(Math.min(Math.max(t,-Z),Z)*100)/100,oe=ut({name:"lookup",title:"Soft lookup",keys:["query","values","names","score","weights","temperature"],setup({model:t,body:e,say:r,set:a,signal:n}){let o=ot({label:"Score",part:"score",value:t.get("score"),options:[{value:"dot",text:"dot product"},{value:"distance",text:"closeness"}],onChange:v=>a({score:v})}),d=ot({label:"Weights",part:"weigh",value:t.get("weights"),options:["softmax","sparsemax","relu","none"].map(v=>({value:v,text:v})),onChange:v=>a({weights:v})}),u=s("input",{type:"range",min:-2,max:2,step:.05,"data-part":"temperature","aria-label":"Temperature",style:"flex: 1 1 8rem; min-height: 28px; accent-color: var(--fig-query)",on:{input:()=>a({temperature:Math.round(10**Number(u.value)*1e3)/1e3})}}),m=s("span",{class:"attnlab-label",style:"min-width: 3.5rem"}),x=N("svg",{viewBox:`0 0 ${rt} ${rt}`,role:"group","aria-label":"The plane of keys and values; each point can be dragged, or moved with the arrow keys","data-part":"plane",style:"width: 100%; max-width: 26rem; height: auto; touch-action: none; display: block; margin: .8rem auto 0"}),O=s("tbody");e.append(s("div",{class:"attnlab-row"},s("span",{class:"attnlab-label"},"Score by"),o),s("div",{class:"attnlab-row"},s("span",{class:"attnlab-label"},"Weights by"),d),s("div",{class:"attnlab-row"},s("span",{class:"attnlab-label"},"Temperature"),u,m),x,s("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Table of numbers",style:"margin-top: .8rem"},s("table",{"data-part":"numbers"},s("thead",{},s("tr",{},...["point","x","y","score","weight"].map(v=>s("th",{scope:"col"},v)))),O)));let L=[],F=N("polygon",{fill:"var(--fig-value)","fill-opacity":.12,stroke:"var(--fig-value)","stroke-opacity":.5}),U=N("g",{}),I=N("circle",{r:9,fill:"var(--fig-output)","data-part":"output","pointer-events":"none"}),z=N("text",{fill:"var(--fig-output)","font-size":14,"text-anchor":"middle","pointer-events":"none"},"output"),C=v=>v==="query"?t.get("query"):t.get("values")[v];function B(v,M,W){let b=[ne(M),ne(W)];a(v==="query"?{query:b}:{values:t.get("values").map((A,k)=>k===v?b:A)})}function D(v,M){let W=v==="query"?"query":"value",b=v==="query"?N("path",{d:"M 0 -11 L 11 0 L 0 11 L -11 0 Z",fill:`var(--fig-${W})`}):N("circle",{r:9,fill:`var(--fig-${W})`}),A=N("g",{tabindex:0,role:"slider","data-part":"handle","data-which":v,"aria-valuemin":-Z,"aria-valuemax":Z,style:"cursor: grab"},N("circle",{r:20,fill:"transparent"}),b,N("text",{y:-15,"text-anchor":"middle","font-size":14,fill:"var(--fig-ink)"},M));return _t(A,n,k=>{let T=x.getBoundingClientRect();B(v,(k.clientX-T.left)/T.width*2*Z-Z,Z-(k.clientY-T.top)/T.height*2*Z)}),A.addEventListener("keydown",k=>{let T=k.key,q={ArrowRight:[1,0],ArrowLeft:[-1,0],ArrowUp:[0,1],ArrowDown:[0,-1]}[T];if(!q)return;k.preventDefault();let[i,l]=C(v);B(v,i+re*q[0],l+re*q[1])}),A}function K(){L=[...t.get("names").map((b,A)=>D(A,b)),D("query","query")];let M=N("path",{d:`M 0 ${rt/2} H ${rt} M ${rt/2} 0 V ${rt}`,stroke:"var(--fig-line)"}),W=N("rect",{x:.5,y:.5,width:rt-1,height:rt-1,fill:"none",stroke:"var(--fig-line)",rx:8});x.replaceChildren(W,M,F,U,...L,I,z)}function $(){let v=t.get("values"),M=t.get("names"),W=i=>Array.isArray(i)&&i.length===2&&i.every(Number.isFinite);if(!Array.isArray(v)||!v.length||!v.every(W)||v.length!==M.length)throw new Error("values must be points (x, y), one for each name.");if(!W(t.get("query")))throw new Error("query must be a point (x, y).");let b=Number(t.get("temperature"));if(!(b>0))throw new Error(`temperature must be positive, got ${t.get("temperature")}.`);let A=t.get("query"),k=Zt(A,v,t.get("score")),T=Gt(k,t.get("weights"),b),q=Yt(T,v);return{query:A,values:v,names:M,temperature:b,scores:k,weights:T,out:q,corners:te(v)}}function j(){let{query:v,values:M,names:W,temperature:b,scores:A,weights:k,out:T,corners:q}=$();L.length!==W.length+1&&K(),at(o,t.get("score")),at(d,t.get("weights")),u.value=String(Math.log10(b)),u.setAttribute("aria-valuetext",_(b,3)),m.textContent=_(b,b<1?3:2),L.forEach((y,c)=>{let h=c<W.length?c:"query",[g,f]=C(h);y.setAttribute("transform",`translate(${wt(g)} ${xt(f)})`);let E=h==="query"?"query":`key and value ${W[c]}`;y.setAttribute("aria-label",E),y.setAttribute("aria-valuenow",String(g)),y.setAttribute("aria-valuetext",`x ${_(g)}, y ${_(f)}`)}),F.setAttribute("points",q.map(([y,c])=>`${wt(y)},${xt(c)}`).join(" ")),U.replaceChildren(...M.map(([y,c],h)=>N("line",{x1:wt(y),y1:xt(c),x2:wt(v[0]),y2:xt(v[1]),stroke:k[h]<0?"var(--fig-key)":"var(--fig-query)","stroke-width":(.5+8*Math.min(Math.abs(k[h]),1)).toFixed(2),"stroke-opacity":Math.abs(k[h])<1e-9?.08:.45})));let i=T.map(y=>Math.min(Math.max(y,-Z),Z));I.setAttribute("cx",String(wt(i[0]))),I.setAttribute("cy",String(xt(i[1]))),z.setAttribute("x",String(wt(i[0]))),z.setAttribute("y",String(xt(i[1])+24));let l=(y,c,h)=>s("tr",{},s("th",{scope:"row"},y),...[c[0].toFixed(2),c[1].toFixed(2),...h].map(g=>s("td",{},g)));O.replaceChildren(l("query",v,["",""]),...M.map((y,c)=>l(W[c],y,[A[c].toFixed(4),k[c].toFixed(4)])),s("tr",{},s("th",{scope:"row"},"output"),...[T[0].toFixed(4),T[1].toFixed(4),"",k.reduce((y,c)=>y+c,0).toFixed(4)].map(y=>s("td",{},y))));let p=k.reduce((y,c)=>y+c,0),w=ee(T,q)?"inside the hull of the values":"outside the hull of the values",S=k.indexOf(Math.max(...k));r(`The weights sum to ${_(p)}; the largest is ${_(k[S])}, of ${W[S]}. The output is ${w}.`)}function Q(){let v=A=>`torch.tensor(${JSON.stringify(t.get(A))}, dtype=torch.float64)`,M=t.get("temperature"),W=t.get("score")==="dot"?"values @ query":"-(values - query).square().sum(-1) / 2",b={softmax:"scores.softmax(z)",sparsemax:"scores.sparsemax(z)",relu:"scores.relu(z)",none:"z"};return`import torch

from attnlab import scores

query = ${v("query")}
values = ${v("values")}  # the keys too: ${t.get("names").join(", ")}
z = (${W}) / ${M}
weights = ${b[t.get("weights")]}
print(weights)
print(weights @ values)
`}return{update:j,pytorch:Q,svg:()=>Et(x)}}});var bt=64,pt=8,st=Array.from({length:11},(t,e)=>2**e),Ot=1024;function se(t){return t=Math.imul(t^t>>>16,2246822507),t=Math.imul(t^t>>>13,3266489909),(t^t>>>16)>>>0}function Le(t,e){let r=se(t+2654435769),a=o=>(se(o+r>>>0)+.5)/2**32,n=new Float64Array(e);for(let o=0;o<e;o+=2){let d=Math.sqrt(-2*Math.log(a(o))),u=2*Math.PI*a(o+1);n[o]=d*Math.cos(u),n[o+1]=d*Math.sin(u)}return n}function ie(t){let e=Le(t,bt*(1+pt)*Ot),r=st.map(()=>Array.from({length:bt},()=>new Array(pt).fill(0)));for(let a=0;a<bt;a++){let n=a*(1+pt)*Ot;for(let o=0;o<pt;o++){let d=n+(1+o)*Ot,[u,m]=[0,0];for(let x=0;x<Ot;x++)u+=e[n+x]*e[d+x],x+1===st[m]&&(r[m++][a][o]=u)}}return r}function jt(t){let e=dt(t),r=e.reduce((d,u)=>u>0?d-u*Math.log(u):d,0),a=e.map((d,u)=>e.reduce((m,x,O)=>O===u?m:m+d*x,0)),n=0;e.forEach((d,u)=>e.forEach((m,x)=>n+=(u===x?a[u]:d*m)**2));let o=Math.sqrt(n);return{weights:e,slopes:a,entropy:r,share:r/Math.log(t.length),largest:Math.max(...a),norm:o,left:o/Math.sqrt(t.length)}}function ce(t){let e=t.slice().sort((a,n)=>a-n),r=e.length>>1;return e.length%2?e[r]:(e[r-1]+e[r])/2}function Tt(t){let e=t.reduce((r,a)=>r+a,0)/t.length;return Math.sqrt(t.reduce((r,a)=>r+(a-e)**2,0)/t.length)}function le(t,e,r){let a=new Array(r).fill(0);for(let n of t){let o=Math.floor((n+e)/(2*e)*r);a[Math.min(Math.max(o,0),r-1)]+=1}return a}var G=4,Wt=.1,Lt=.01,vt=300,Y=6,Rt=32,[Mt,ue,yt,qt,nt,it]=[92,70,200,12,358,72],Ce=[["entropy (nats)","entropy",Math.log(pt)],["entropy / ln n","share",1],["largest Jacobian entry","largest",.25],["norm of the Jacobian","norm",.5],["left of a gradient of 1","left",.5/Math.SQRT2]],Ct=t=>t===0?"0":t>=.001?t.toFixed(4):t.toExponential(1),de=ut({name:"saturation",title:"Temperature and √d",keys:["scores","names","d_k","temperature","scaled","seed"],setup({model:t,body:e,say:r,set:a,signal:n}){let o,d=c=>(o?.seed!==c&&(o={seed:c,scores:ie(c)}),o.scores),u=(c,h,g,f)=>{let E=s("input",{type:"range",...g,"data-part":c,"aria-label":h,style:"flex: 1 1 7rem; min-width: 0; min-height: 28px; accent-color: var(--fig-query)",on:{input:()=>f(Number(E.value))}});return E},m=(...c)=>s("span",{class:"attnlab-label",style:"flex: none; width: 6rem"},...c),x=()=>s("span",{style:"min-width: 3.2rem; font-variant-numeric: tabular-nums"}),O=u("width","Width d_k",{min:0,max:st.length-1,step:1},c=>a({d_k:st[c]})),L=u("temperature","Temperature",{min:-2,max:2,step:.05},c=>a({temperature:Math.round(10**c*1e3)/1e3})),[F,U]=[x(),x()],I=ot({label:"Divide by the root of d_k",part:"scale",value:"on",options:[{value:"on",text:"yes"},{value:"off",text:"no"}],onChange:c=>a({scaled:c==="on"})}),z=s("button",{type:"button","data-part":"draw",on:{click:()=>a({seed:t.get("seed")+1,scores:[]})}},"New samples"),C=N("svg",{viewBox:`0 0 ${vt} ${nt+22}`,role:"group","aria-label":"Sampled scores, and below them the row of scores with its weights; each score can be dragged, or moved with the arrow keys","data-part":"plane",style:"flex: 1 1 17rem; min-width: 0; width: 100%; max-width: 26rem; height: auto; display: block"}),[B,D]=[s("tbody"),s("tbody")],K=(c,h,g,f)=>s("div",{class:"attnlab-scroll attnlab-tight",tabindex:0,role:"group","aria-label":h,style:"margin-bottom: .8rem"},s("table",{"data-part":c},s("thead",{},s("tr",{},...g.map(E=>s("th",{scope:"col"},E)))),f));e.append(s("div",{class:"attnlab-row",style:"flex-wrap: nowrap"},m("Width d",s("sub",{},"k")),O,F),s("div",{class:"attnlab-row",style:"flex-wrap: nowrap"},m("Temperature"),L,U),s("div",{class:"attnlab-row"},m("Divide by √d"),I,z),s("div",{style:"display: flex; flex-wrap: wrap; gap: 0 1.6rem; align-items: flex-start; margin-top: .8rem"},C,s("div",{style:"flex: 1 1 17rem; min-width: 0"},K("measures","Measures of this row and of the sampled rows",["measure","this row",`median of ${bt} rows`],D),K("numbers","The row of scores",["key","score","weight p","slope p(1 − p)"],B))));let $=(c,h="")=>N("text",{"font-size":11,fill:"var(--fig-ink)",...c},h),j=N("g",{}),Q=N("g",{}),v=$({x:Y,y:12}),M=[],W=()=>(vt-2*Y)/t.get("names").length,b=c=>Y+(c+.5)*W(),A=c=>Math.round(Math.min(Math.max(c,-G),G)*100)/100;function k(){if(t.get("scores").length)return t.get("scores");let c=Math.sqrt(t.get("d_k"));return d(t.get("seed"))[st.indexOf(t.get("d_k"))][0].slice(0,t.get("names").length).map(h=>h/c)}let T=(c,h)=>a({scores:k().map((g,f)=>A(f===c?h:g))});function q(c,h){let g=N("g",{tabindex:0,role:"slider","data-part":"handle","data-which":h,"aria-label":`score of key ${c}`,"aria-orientation":"vertical","aria-valuemin":-G,"aria-valuemax":G,style:"cursor: ns-resize; touch-action: none"},N("rect",{x:-W()/2,y:yt-G*qt-14,width:W(),height:2*G*qt+20,fill:"transparent"}),N("line",{y1:yt,y2:yt,stroke:"var(--fig-key)","stroke-width":3}),N("circle",{r:8,fill:"var(--fig-key)"}),$({"text-anchor":"middle","font-size":10}));return g.setAttribute("transform",`translate(${b(h)} 0)`),_t(g,n,f=>{let E=C.getBoundingClientRect();T(h,(yt-(f.clientY-E.top)/E.width*vt)/qt)}),g.addEventListener("keydown",f=>{let E=f.key,X={ArrowUp:Wt,ArrowRight:Wt,ArrowDown:-Wt,ArrowLeft:-Wt,PageUp:1,PageDown:-1}[E],R=X?k()[h]+X:{Home:-G,End:G}[E];R!==void 0&&(f.preventDefault(),T(h,R))}),g}function i(){let c=t.get("names");M=c.map(q);let h=f=>N("path",{d:`M ${Y} ${f} H ${vt-Y}`,stroke:"var(--fig-line)"}),g=f=>f.length*6>W()?`${f.slice(0,Math.floor(W()/6)-1)}…`:f;C.replaceChildren(j,v,h(Mt),h(yt),$({x:Y,y:yt-G*qt-18},"this row’s scores (drag them)"),...M,h(nt),Q,...c.map((f,E)=>$({x:b(E),y:nt+14,"text-anchor":"middle"},g(f))))}function l(){let[c,h,g,f]=["names","scores","d_k","seed"].map(V=>t.get(V)),E=Number(t.get("temperature"));if(!Array.isArray(c)||c.length<2||c.length>pt)throw new Error(`names must be 2 to ${pt} names.`);let X=V=>Number.isFinite(V)&&Math.abs(V)<=G;if(!Array.isArray(h)||h.length&&h.length!==c.length||!h.every(X))throw new Error(`scores must be numbers between -${G} and ${G}, one for each name, or none.`);if(!st.includes(g))throw new Error(`d_k must be a power of two from 1 to 1024, got ${g}.`);if(!(E>0))throw new Error(`temperature must be positive, got ${t.get("temperature")}.`);if(!Number.isInteger(f)||f<0)throw new Error(`seed must be a whole number, 0 or larger, got ${f}.`);let R=!!t.get("scaled"),ft=R?1/Math.sqrt(g):1,ht=d(f)[st.indexOf(g)].map(V=>V.map(P=>P*ft)),H=k().map(V=>R?V:V*Math.sqrt(g)),ct=jt(H.map(V=>V/E)),et=ht.map(V=>jt(V.slice(0,c.length).map(P=>P/E)));return{names:c,d_k:g,T:E,scaled:R,samples:ht,row:H,ours:ct,theirs:et}}function p(c,h,g){let f=4*g,E=H=>Y+(Math.min(Math.max(H,-f),f)+f)/(2*f)*(vt-2*Y),X=le(c,f,Rt),R=H=>Math.min(H*g/.4*.72*ue,ue),ft=2*f/Rt,ht=H=>Array.from({length:193},(ct,et)=>{let V=-f+et/192*2*f,P=Mt-R(Math.exp(-((V/H)**2)/2)/(H*Math.sqrt(2*Math.PI)));return`${et?"L":"M"} ${E(V).toFixed(1)} ${P.toFixed(1)}`}).join(" ");j.replaceChildren(...X.map((H,ct)=>{let et=R(H/c.length/ft);return N("rect",{x:E(-f+ct*ft)+.5,y:Mt-et,width:(vt-2*Y)/Rt-1,height:et,fill:"var(--fig-key)","fill-opacity":.45})}),N("path",{d:ht(1),fill:"none",stroke:"var(--fig-ink)","stroke-width":1.2,"stroke-dasharray":"4 3"}),...h.map(H=>N("path",{d:`M ${E(H)} ${Mt+1} l 4 7 h -8 Z`,fill:"var(--fig-key)"})),...[-.75,-.5,-.25,0,.25,.5,.75].map(H=>$({x:E(H*f),y:Mt+20,"text-anchor":"middle","font-size":10},_(H*f,Number.isInteger(H*f)?0:1)))),v.textContent=`${c.length} sampled scores: spread ${_(Tt(c))}, dashed: spread 1`}function w(c){let h=Math.min(W()/3,16);Q.replaceChildren(N("rect",{x:Y,y:nt-it-35,width:9,height:9,fill:"var(--fig-query)"}),$({x:Y+13,y:nt-it-27},"weight p"),N("rect",{x:Y+74,y:nt-it-35,width:9,height:9,fill:"none",stroke:"var(--fig-ink)","stroke-width":1.4}),$({x:Y+87,y:nt-it-27},"slope p(1 − p), four times as high"),...c.weights.flatMap((g,f)=>[N("rect",{x:b(f)-h,y:nt-it*g,width:h,height:it*g,fill:"var(--fig-query)"}),N("rect",{x:b(f)+1,y:nt-it*4*c.slopes[f],width:h-1,height:it*4*c.slopes[f],fill:"none",stroke:"var(--fig-ink)","stroke-width":c.slopes[f]<.002?0:1.4}),$({x:b(f),y:nt-it*Math.max(g,4*c.slopes[f])-5,"text-anchor":"middle","font-size":10},_(g))]))}function S(){let{names:c,d_k:h,T:g,scaled:f,samples:E,row:X,ours:R,theirs:ft}=l();M.length!==c.length&&i(),O.value=String(st.indexOf(h)),O.setAttribute("aria-valuetext",String(h)),F.textContent=String(h),L.value=String(Math.log10(g)),U.textContent=_(g,g<1?3:2),L.setAttribute("aria-valuetext",_(g,3)),at(I,f?"on":"off");let ht=E.flat();p(ht,X,f?1:Math.sqrt(h)),w(R),k().forEach((P,J)=>{let tt=yt-qt*Math.min(Math.max(P,-G),G),[,lt,gt,kt]=M[J].children;lt.setAttribute("y2",String(tt)),gt.setAttribute("cy",String(tt)),kt.setAttribute("y",String(P<0?tt+19:tt-11)),kt.textContent=_(X[J],Math.abs(X[J])<10?1:0),M[J].setAttribute("aria-valuenow",String(A(P))),M[J].setAttribute("aria-valuetext",`${_(X[J])}, weight ${_(R.weights[J])}`)}),B.replaceChildren(...c.map((P,J)=>{let tt=[X[J].toFixed(4),Ct(R.weights[J]),Ct(R.slopes[J])].map(lt=>s("td",{},lt));return mt(tt[1],R.weights[J]),s("tr",{},s("th",{scope:"row"},P),...tt)}));let H=ft.filter(P=>P.largest<Lt).length,ct=(P,J,tt=[])=>s("tr",{},s("th",{scope:"row",style:"text-align: left"},P),...J.map((lt,gt)=>{let kt=s("td",{},lt);return tt.length&&mt(kt,tt[gt]),kt}));D.replaceChildren(ct("spread of the scores",[Tt(X).toFixed(4),Tt(ht).toFixed(4)]),...Ce.map(([P,J,tt])=>{let lt=[R[J],ce(ft.map(gt=>gt[J]))];return ct(P,lt.map(Ct),lt.map(gt=>gt/tt))}),ct(`largest entry < ${Lt}`,[R.largest<Lt?"yes":"no",`${H} of ${bt}`]));let et=R.weights.indexOf(Math.max(...R.weights)),V=R.largest<Lt?"saturated, next to no gradient passes":R.share>.99?"nearly uniform":"open, a gradient passes";r(`Key ${c[et]} has weight ${_(R.weights[et])}; entropy is ${_(100*R.share,0)} % of ln ${c.length}; the largest slope is ${Ct(R.largest)}: ${V}. Of ${bt} sampled rows, ${H} are saturated.`)}function y(){let{T:c,d_k:h,scaled:g}=l();return`import torch

scores = torch.tensor(${JSON.stringify(k())}, dtype=torch.float64)  # q·k / sqrt(d_k), of ${JSON.stringify(t.get("names"))}
z = scores${g?"":` * ${h} ** 0.5  # not scaled`}
z = z / ${c}  # the temperature
weights = z.softmax(-1)
jacobian = torch.autograd.functional.jacobian(lambda z: z.softmax(-1), z)
print("weights", weights.tolist())
print("entropy", torch.special.entr(weights).sum().item(), "largest", jacobian.max().item(), "norm", jacobian.norm().item())
`}return{update:S,pytorch:y,svg:()=>Et(C)}}});var he=["n't","'s","'m","'re","'ve","'ll","'d"],pe=new Set(`mr. mrs. ms. dr. prof. st. jr. sr. vs. etc. inc. co. corp. ltd. gen. rep. sen. gov. lt. col. no. ph.d. fig.
al. jan. feb. mar. apr. jun. jul. aug. sep. sept. oct. nov. dec. ave. blvd. rd. approx. dept. est.`.split(/\s+/)),Ne=/^(?:(?:[A-Za-z][A-Za-z0-9+.-]*:\/\/|[Ww][Ww][Ww]\.)[^ ]|[^@]+@[^@.]+\.[^@])/u,Ie=/^(?:[A-Za-z]\.)+[A-Za-z]?\.?$/,ze=t=>/^[\p{Z}\p{Cc}]$/u.test(t),$t=t=>/^[\p{L}\p{M}\p{N}_]$/u.test(t),Ft=t=>/^\p{N}$/u.test(t),je=t=>/^[\p{M}\p{Cf}\p{Sk}]$/u.test(t)&&t.codePointAt(0)>127,Re=t=>t.replaceAll("’","'").toLowerCase();function Ut(t){let e=Array.from(t,n=>/^[\ud800-\udfff]$/.test(n)?"�":n),r=[],a="";for(let n of[...e," "])ze(n)?a&&(r.push(...Ue(a)),a=""):a+=n;return r}function ge(t){let e=Array.from(t.toLowerCase()),r="",a="",n=0;for(let o of t){let d=Fe(o);n=d===a?n+1:1,a=d,n<=2&&(r+=d)}return[`w=${e.join("")}`,...[1,2,3].map(o=>`p${o}=${e.slice(0,o).join("")}`),...[1,2,3,4].map(o=>`s${o}=${e.slice(-o).join("")}`),`shape=${Array.from(r).slice(0,8).join("")}`]}function me(t,e,r){let a=(2166136261^e)>>>0;for(let n of new TextEncoder().encode(t))a=Math.imul(a^n,16777619)>>>0;return a%r}function Fe(t){return/^[\p{Lu}\p{Lt}]$/u.test(t)?"X":/^\p{L}$/u.test(t)?"x":Ft(t)?"d":t}function Ue(t){let[e,...r]=De(t),[a,n]=r,o=a+n;return pe.has(o.toLowerCase())||Ie.test(o)&&o.slice(0,-1).includes(".")?[a,n]=[o,""]:n.startsWith(".")&&pe.has(`${a}.`.toLowerCase())&&([a,n]=[`${a}.`,n.slice(1)]),[...fe(e),...Ne.test(a)?[a]:Xe(a),...fe(n)]}function De(t){if(he.includes(Re(t)))return["",t,""];let e=Array.from(t),r=e.findIndex($t);if(r<0)return[t,"",""];let a=e.findLastIndex($t)+1;return[e.slice(0,r),e.slice(r,a),e.slice(a)].map(n=>n.join(""))}function fe(t){let e=[];for(let r of t){let a=e.length?Array.from(e[e.length-1]).at(-1):"";a&&(r===a||je(r)||a==="‍")?e[e.length-1]+=r:e.push(r)}return e}function Xe(t){if(!t)return[];let e=Array.from(t),r=[],a=0;for(let o=1;o<e.length-1;o++)!$t(e[o])&&!Be(e,o)&&(r.push(e.slice(a,o).join(""),e[o]),a=o+1);r.push(e.slice(a).join(""));let n=[];for(let o of r.filter(Boolean)){let d=Array.from(o),u=n.length?Array.from(n[n.length-1]).at(-1):"";d.length===1&&!$t(o)&&o===u?n[n.length-1]+=o:n.push(...He(o))}return n}function Be(t,e){let[r,a,n]=[t[e-1],t[e],t[e+1]];return!$t(r)||!$t(n)?!1:".,:".includes(a)?Ft(r)&&Ft(n)||a===".":"'’&".includes(a)}function He(t){let e=Array.from(t),r=Array.from(t.toLowerCase().replaceAll("’","'"));if(r.length!==e.length)return[t];let a=r.join("");if(a==="cannot")return[t.slice(0,3),t.slice(3)];for(let n of he)if(a.endsWith(n)&&r.length>n.length){let o=e.length-n.length;return[e.slice(0,o).join(""),e.slice(o).join("")]}return[t]}function Dt(t){let e=new DataView(t.buffer,t.byteOffset,t.byteLength),r=Number(e.getBigUint64(0,!0)),a=JSON.parse(new TextDecoder().decode(t.subarray(8,8+r))),n={};for(let[d,{dtype:u,shape:m,data_offsets:x}]of Object.entries(a)){if(d==="__metadata__")continue;let[O,L]=x.map(I=>I+8+r),F=new Uint8Array(t.subarray(O,L)),U=u==="F32"?new Float32Array(F.buffer):u==="I8"?new Int8Array(F.buffer):F;n[d]={shape:m,dtype:u,data:Float64Array.from(U)}}let o={};for(let[d,u]of Object.entries(n))if(!d.endsWith(".scale"))if(!d.endsWith(".q"))o[d]=u;else{let m=d.slice(0,-2),x=n[`${m}.scale`].data;o[m]=u.dtype==="U8"?Ke(u,x):Qe(u,x)}return{card:JSON.parse(a.__metadata__.card),tensors:o}}function Ke({shape:[t,e],data:r},a){let n=2*e,o=new Float64Array(t*n);for(let d=0;d<t;d++)for(let u=0;u<e;u++){let m=r[d*e+u];o[d*n+u]=Math.fround(((m&15)-8)*a[u]),o[d*n+e+u]=Math.fround(((m>>4)-8)*a[e+u])}return{shape:[t,n],data:o}}function Qe({shape:t,data:e},r){return{shape:t,data:e.map((a,n)=>Math.fround(a*r[Math.floor(n/t[1])]))}}function ye({card:t,tensors:e},r){let{n_buckets:a,d_model:n,n_heads:o,n_layers:d,seeds:u}=t.form,m=e["table.weight"].data,x=r.map(z=>{let C=new Array(n).fill(0);for(let B of ge(z))for(let D of u){let K=me(B,D,a)*n;for(let $=0;$<n;$++)C[$]+=m[K+$]}return C}),O=(z,C)=>{let{shape:B,data:D}=e[`${C}.weight`],K=Array.from(e[`${C}.bias`].data);for(let $=0;$<B[0];$++)for(let j=0;j<B[1];j++)K[$]+=D[$*B[1]+j]*z[j];return K},L=(z,C)=>Kt(z,e[`${C}.weight`].data,e[`${C}.bias`].data),F=[];for(let z=0;z<d;z++){let C=`layers.${z}`,B=x.map(M=>L(M,`${C}.norm`)),[D,K,$]=["q","k","v"].map(M=>B.map(W=>O(W,`${C}.attention.${M}_proj`))),j=D.length?D[0].length/o:0,Q=[],v=r.map(()=>[]);for(let M=0;M<o;M++){let W=k=>k.slice(M*j,(M+1)*j),b=[D,K].map(k=>k.map((T,q)=>Qt(W(T),q))),A=b[0].map(k=>dt(b[1].map(T=>k.reduce((q,i,l)=>q+i*T[l],0)/Math.sqrt(j))));Q.push(A),A.forEach((k,T)=>{for(let q=0;q<j;q++)v[T].push(k.reduce((i,l,p)=>i+l*$[p][M*j+q],0))})}F.push(Q),x=x.map((M,W)=>be(M,O(v[W],`${C}.attention.out_proj`))),x=x.map(M=>{let W=O(L(M,`${C}.norm2`),`${C}.up`).map(b=>Math.max(b,0));return be(M,O(W,`${C}.down`))})}let U=x.map(z=>dt(O(L(z,"norm"),"out"))),I=U.map(z=>t.tags[z.indexOf(Math.max(...z))]);return{tokens:r,tags:I,probabilities:U,weights:F}}var be=(t,e)=>t.map((r,a)=>r+e[a]);var Nt=128,we=["I saw a saw","What do you do?","There were many hotels there.","Can you open the can?"];function Xt(t,e){let r=t.flat(),[a,n]=e.split(".").map(Number),o=t[a-1]?.[n-1];if(o)return o;let d=r[0]?.length??0;return Array.from({length:d},(u,m)=>Array.from({length:d},(x,O)=>r.reduce((L,F)=>L+F[m][O],0)/r.length))}async function Ve(t,e){let r=t.get("model");if(r?.byteLength)return Dt(new Uint8Array(r.buffer??r,r.byteOffset??0,r.byteLength));let a=()=>globalThis.attnlabModels?.tagger;return a()||await new Promise((n,o)=>{let d=document.createElement("script");d.src=new URL("models/tagger-model.js",e??document.baseURI).href,d.onload=n,d.onerror=()=>o(new Error("its weights (models/tagger-model.js) did not load. Reload the page.")),document.head.append(d)}),Dt(Uint8Array.from(atob(a()),n=>n.charCodeAt(0)))}var xe=ut({name:"tag",title:"Tag a sentence",keys:["sentence","word","head"],async setup({model:t,body:e,say:r,set:a,signal:n,place:o}){let d=await Ve(t,o.base),{card:u}=d,m,x="",O=0,L=s("input",{type:"text","aria-label":"A sentence to tag","data-part":"sentence",autocomplete:"off",spellcheck:"false",dir:"auto",on:{input:()=>a({sentence:L.value,word:-1})}}),F=s("div",{class:"attnlab-row attnlab-examples"},s("span",{class:"attnlab-label"},"Try"));for(let b of we){let A=()=>a({sentence:b,word:b===we[0]?3:-1});F.append(s("button",{type:"button","data-part":"example",on:{click:A}},b))}let U=ot({label:"Which attention head",part:"heads",value:t.get("head"),options:[{value:"mean",text:"all heads"},...Array.from({length:u.form.n_layers*u.form.n_heads},(b,A)=>{let[k,T]=[Math.floor(A/u.form.n_heads)+1,A%u.form.n_heads+1],q=u.form.n_layers>1?`${k}.${T}`:String(T);return{value:`${k}.${T}`,text:q}})],onChange:b=>a({head:b})}),I=s("div",{class:"attnlab-tokens",role:"radiogroup","aria-label":"The words, each with its tag",on:{keydown:$}}),z=s("p",{"data-part":"alternatives"}),C=s("tbody"),B=s("table",{"data-part":"numbers"},s("caption",{},"Every number"),s("thead",{},s("tr",{},...["word","tag","probability","weight"].map(b=>s("th",{scope:"col"},b)))),C),D=u.form.n_layers>1?" (layer.head; layers look one after the other)":"";e.append(L,F,s("div",{class:"attnlab-row"},s("span",{class:"attnlab-label"},`Attention of${D}`),U),I,z,s("details",{},s("summary",{},"The numbers as a table"),s("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Table of numbers"},B)),s("p",{class:"attnlab-note","data-part":"card"},`Trained on ${u.data} (${u.licence}); ${u.accuracy.test} % of its test words come out right. It knows no more English than that.`));let K=new ResizeObserver(()=>W());K.observe(I),n.addEventListener("abort",()=>K.disconnect());function $(b){let A={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[b.key],k=m.tokens.length;!A||!k||(b.preventDefault(),a({word:(Math.max(t.get("word"),0)+A+k)%k}),I.querySelector('[tabindex="0"]')?.focus())}function j(){let b=String(t.get("sentence")??"");if(m&&b===x)return;x=b;let A=Ut(b);O=Math.max(A.length-Nt,0),m=ye(d,A.slice(0,Nt))}let Q=()=>{let b=Number(t.get("word")??-1);return b>=0&&b<m.tokens.length?b:-1};function v(){j(),L.value!==x&&(L.value=x),at(U,t.get("head"));let b=Q(),A=b<0?[]:Xt(m.weights,t.get("head"))[b],k=I.contains(document.activeElement);I.replaceChildren(...m.tokens.map((T,q)=>{let i=Math.max(...m.probabilities[q]),l=s("button",{type:"button",class:"attnlab-token",role:"radio","aria-checked":q===b?"true":"false",tabindex:q===Math.max(b,0)?0:-1,"data-part":"token",on:{click:()=>a({word:q})}},s("b",{dir:"auto"},T),s("span",{},m.tags[q]),s("i",{},b<0?`${_(100*i,0)} %`:`gives ${_(100*A[q],0)} %`));return b>=0&&mt(l,A[q]),l})),k&&I.querySelector('[tabindex="0"]')?.focus(),C.replaceChildren(...m.tokens.map((T,q)=>s("tr",{},s("th",{scope:"row",dir:"auto"},T),s("td",{},m.tags[q]),s("td",{},Math.max(...m.probabilities[q]).toFixed(4)),s("td",{},b<0?"–":A[q].toFixed(4))))),M(b,A),W()}function M(b,A){if(!m.tokens.length){z.textContent="",r("Type a sentence: there is nothing to tag yet.");return}let k=O?` Only the first ${Nt} of ${Nt+O} words are shown.`:"";if(b<0){z.textContent="Pick a word to see where the tagger looked.",r(m.tokens.map((l,p)=>`${l} ${m.tags[p]}`).join(", ")+"."+k);return}let T=m.probabilities[b].map((l,p)=>({p:l,tag:u.tags[p]})).sort((l,p)=>p.p-l.p).slice(0,3);z.textContent=T.map(({p:l,tag:p})=>`${p} ${_(100*l,1)} %`).join(" · ");let q=A.indexOf(Math.max(...A)),i=q===b?"itself":`“${m.tokens[q]}” (word ${q+1})`;r(`“${m.tokens[b]}” (word ${b+1}) is ${m.tags[b]}. It takes most from ${i}: ${_(100*A[q],0)} %.${k}`)}function W(){I.querySelector("svg")?.remove();let b=Q(),A=[...I.querySelectorAll(".attnlab-token")],k=A.length>1&&A.every(p=>p.offsetTop===A[0].offsetTop),T=b>=0&&k&&I.clientWidth>480;if(I.classList.toggle("has-arcs",T),!T)return;let q=Xt(m.weights,t.get("head"))[b],i=N("svg",{class:"attnlab-arcs","aria-hidden":"true","data-part":"arcs"}),l=A.map(p=>p.offsetLeft+p.offsetWidth/2);A.forEach((p,w)=>{if(q[w]<.02)return;let[S,y]=[l[b],l[w]],c=w===b?26:Math.min(24+Math.abs(y-S)*.16,76),h=w===b?`M ${S-9} 82 C ${S-22} ${82-c*1.4}, ${S+22} ${82-c*1.4}, ${S+9} 82`:`M ${S} 82 C ${S} ${82-c}, ${y} ${82-c}, ${y} 82`;i.append(N("path",{d:h,fill:"none",stroke:"var(--fig-query)","stroke-width":(1+9*q[w]).toFixed(2),"stroke-opacity":(.25+.7*q[w]).toFixed(2),"stroke-linecap":"round"}))}),I.prepend(i)}return{update:v,pytorch:()=>Pe(x,Q(),t.get("head")),svg:()=>Je(m,Q(),t.get("head"))}}});function Pe(t,e,r){let[a,n]=r.split(".").map(Number),o=r==="mean"?"tagged.weights.mean((0, 1))":`tagged.weights[${a-1}, ${n-1}]`,d=e<0?"":`weights = ${o}[${e}]  # how much word ${e} takes of each word
`;return`from attnlab.tagging import shipped

tagged = shipped.load().tag(${JSON.stringify(t)})
${d}for i, (token, tag) in enumerate(zip(tagged.tokens, tagged.tags)):
    print(token, tag, round(tagged.probabilities[i].max().item(), 4)${e<0?"":", round(weights[i].item(), 4)"})
`}function Je(t,e,r){let a=e<0?[]:Xt(t.weights,r)[e],n=110,o=t.tokens.map((u,m)=>{let x=10+m*n,O=a[m]??0;return`<rect x="${x}" y="10" width="${n-8}" height="76" rx="8" fill="#0069a8" fill-opacity="${(.52*O).toFixed(3)}" stroke="${m===e?"#0069a8":"#d5dae0"}" stroke-width="2"/><text x="${x+51}" y="36" font-size="18">${At(u)}</text><text x="${x+51}" y="57" font-size="13">${t.tags[m]}</text><text x="${x+51}" y="76" font-size="13">${e<0?"":`${_(100*O,0)} %`}</text>`}),d=12+t.tokens.length*n;return`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${d} 96" width="${d}" height="96" font-family="sans-serif" fill="#1b1f24" text-anchor="middle">${o.join("")}</svg>`}var Ze=Object.fromEntries([Jt,oe,de,xe].map(t=>[t.name,t])),Ge=document.currentScript,Ye=new URL(".",Ge?.src||document.baseURI).href;function ta(t){let e=t.dataset.attnlab??"",r=Ze[e];if(!r||t.dataset.mounted)return;t.dataset.mounted="true";let a=[...document.querySelectorAll(`figure[data-attnlab="${e}"]`)].indexOf(t),n=a?`${e}-${a+1}`:e;t.id||=`figure-${n}`;let o=JSON.parse(t.dataset.settings??"{}"),d=new URLSearchParams(location.search).get(n);d&&Object.assign(o,ea(d,r.keys));let u=t.querySelector("figcaption"),m=document.createElement("div");t.replaceChildren(m,...u?[u]:[]);let x=O=>{let L=new URL(location.href);return L.searchParams.set(n,JSON.stringify(O)),L.hash=t.id,L.href};r.render({model:aa(o),el:m,place:{base:Ye,link:x}})}function ea(t,e){try{let r=JSON.parse(t);return Object.fromEntries(Object.entries(r).filter(([a])=>e.includes(a)))}catch{return{}}}function aa(t){return{get:e=>t[e],set:(e,r)=>{t[e]=r},save_changes(){},on(){}}}var ve=()=>document.querySelectorAll("figure[data-attnlab]").forEach(t=>ta(t));document.readyState==="loading"?document.addEventListener("DOMContentLoaded",ve):ve();})();
