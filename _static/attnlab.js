"use strict";(()=>{function i(t,e={},...n){let a=document.createElement(t);for(let[r,o]of Object.entries(e))if(r==="on")for(let[u,l]of Object.entries(o))a.addEventListener(u,l);else o===!0?a.setAttribute(r,""):o!=null&&o!==!1&&a.setAttribute(r,String(o));return a.append(...n.filter(r=>r!=null)),a}function R(t,e={},...n){let a=document.createElementNS("http://www.w3.org/2000/svg",t);for(let[r,o]of Object.entries(e))a.setAttribute(r,String(o));return a.append(...n),a}function I(t,e=2){if(t===-1/0)return"−∞";if(Math.abs(t)>=1e5)return t.toExponential(1).replace("-","−");let n=t.toFixed(e);return Number(n)===0?n.replace("-",""):n.replace("-","−")}function Q({label:t,options:e,value:n,part:a,onChange:r}){let o=e.map(l=>i("button",{type:"button",role:"radio","aria-checked":l.value===n?"true":"false",tabindex:l.value===n?0:-1,"data-value":l.value,on:{click:()=>r(l.value)}},l.text)),u=i("div",{class:"attnlab-choices",role:"radiogroup","aria-label":t,"data-part":a});return u.append(...o),u.addEventListener("keydown",l=>{let h={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[l.key],y=o.findIndex(M=>M===l.target);if(!h||y<0)return;l.preventDefault();let k=o[(y+h+o.length)%o.length];D(u,k.dataset.value),k.focus(),r(k.dataset.value)}),u}function D(t,e){for(let n of t.querySelectorAll("button")){let a=n.dataset.value===e;n.setAttribute("aria-checked",String(a)),n.tabIndex=a?0:-1}}function Y(t,e,n="query"){let a=Math.round(52*Math.min(Math.max(e,0),1)*10)/10;t.style.backgroundColor=`color-mix(in srgb, var(--fig-${n}) ${a}%, transparent)`}var rt=t=>t.replace(/[&<>"]/g,e=>`&#${e.charCodeAt(0)};`),Pt={query:"#0069a8",key:"#b04a00",value:"#00795a",output:"#a0307a",ink:"#1b1f24",line:"#d5dae0"};function st(t){let e=t.cloneNode(!0);return e.setAttribute("xmlns","http://www.w3.org/2000/svg"),Object.entries(Pt).reduce((n,[a,r])=>n.replaceAll(`var(--fig-${a})`,r),e.outerHTML)}function gt(t,e,n){t.addEventListener("pointerdown",a=>{let r=new AbortController;t.setPointerCapture(a.pointerId),t.addEventListener("pointermove",o=>n(o),{signal:AbortSignal.any([e,r.signal])});for(let o of["pointerup","pointercancel"])t.addEventListener(o,()=>r.abort(),{once:!0})},{signal:e})}var mt=`/* The figures carry their own colours: in Lab and Colab there is no book theme around them. */
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
`;function G(t){return{name:t.name,keys:t.keys,async render({model:e,el:n,signal:a,place:r={}}){let o=new AbortController;a?.addEventListener("abort",()=>o.abort()),Zt(n);let u=Object.fromEntries(t.keys.map(E=>[E,structuredClone(e.get(E))])),l=i("div",{class:"attnlab-body"}),h=i("p",{class:"attnlab-status",role:"status","data-part":"status"}),y=i("p",{class:"attnlab-error",role:"alert","data-part":"error",hidden:!0}),k=i("div",{class:"attnlab-bar",role:"group","aria-label":`${t.title}: actions`}),M=i("div",{class:"attnlab-root","data-lm-suppress-shortcuts":"true","data-figure":t.name},l,y,h,k);n.replaceChildren(M);let j,F=E=>{try{E(),y.hidden=!0}catch(z){console.warn("attnlab figure:",z),y.textContent=`This figure could not be drawn: ${z instanceof Error?z.message:z}`,y.hidden=!1}},W=()=>F(()=>j?.update()),N=E=>{for(let[z,x]of Object.entries(E))e.set(z,x);e.save_changes(),W()},T=E=>{h.textContent!==E&&(h.textContent=E)};try{j=await t.setup({model:e,body:l,say:T,set:N,signal:o.signal,place:r})}catch(E){return F(()=>{throw E}),()=>o.abort()}let K=()=>Object.fromEntries(t.keys.map(E=>[E,e.get(E)]));k.append(U("Reset","reset",()=>(N(structuredClone(u)),"Reset.")),r.link?U("Copy link","link",()=>B(r.link(K()))):"",U("Copy as PyTorch","pytorch",()=>B(j.pytorch())),U("Save SVG","svg",()=>Ht(j.svg(),`attnlab-${t.name}.svg`))),W();for(let E of t.keys)e.on(`change:${E}`,W),o.signal.addEventListener("abort",()=>e.off?.(`change:${E}`,W));return()=>o.abort();function U(E,z,x){let d=i("button",{type:"button","data-part":z},E);return d.addEventListener("click",async()=>{try{T(await x())}catch(b){T(`That did not work: ${b instanceof Error?b.message:b}`)}}),d}async function B(E){M.querySelector(".attnlab-copied")?.remove();try{return await navigator.clipboard.writeText(E),"Copied."}catch{let z=i("textarea",{class:"attnlab-copied",readonly:!0,rows:Math.min(E.split(`
`).length,12),"aria-label":"Text to copy","data-part":"copied"});return z.value=E,k.after(z),z.focus(),z.select(),"The text is selected below: copy it with your keyboard."}}}}}function Ht(t,e){let n=URL.createObjectURL(new Blob([t],{type:"image/svg+xml"}));return i("a",{href:n,download:e}).click(),setTimeout(()=>URL.revokeObjectURL(n),1e4),`Saved ${e}.`}function Zt(t){t.classList.add("attnlab-figure");let e=t.getRootNode(),n=e instanceof Document?e.head:e instanceof ShadowRoot?e:t;if(n.querySelector?.("style[data-attnlab]"))return;let a=i("style",{"data-attnlab":!0});a.textContent=mt,n.append(a)}var tt=(t,e)=>t.map(n=>e[0].map((a,r)=>n.reduce((o,u,l)=>o+u*e[l][r],0))),Yt=t=>t[0].map((e,n)=>t.map(a=>a[n]));function H(t){let e=Math.max(...t);if(e===-1/0)return t.map(()=>0);let n=t.map(r=>Math.exp(r-e)),a=n.reduce((r,o)=>r+o,0);return n.map(r=>r/a)}function bt({x:t,wq:e,wk:n,wv:a,scale:r=null,causal:o=!1}){let[u,l,h]=[e,n,a].map(F=>tt(t,F)),y=tt(u,Yt(l)),k=r??1/Math.sqrt(u[0].length),M=y.map((F,W)=>F.map((N,T)=>o&&T>W?-1/0:N*k)),j=M.map(H);return{q:u,k:l,v:h,scores:y,factor:k,scaled:M,weights:j,output:tt(j,h)}}function yt(t,e,n){let a=t.length,r=0;for(let l=0;l<a;l++)r+=t[l]/a;let o=0;for(let l=0;l<a;l++)o+=(t[l]-r)**2/a;let u=Math.sqrt(o+1e-5);return Array.from({length:a},(l,h)=>(t[h]-r)/u*e[h]+n[h])}function vt(t,e){let n=t.slice();for(let a=0;a<t.length;a+=2){let r=e*1e4**(-a/t.length),[o,u]=[Math.cos(r),Math.sin(r)];n[a]=t[a]*o-t[a+1]*u,n[a+1]=t[a]*u+t[a+1]*o}return n}var te=["Input","Q, K, V","Scores","Scaled","Weights","Output"],ee=["one row of numbers for each token.","three views of every token: what it looks for, offers and passes on.","every query against every key.","the scores, made smaller so that their spread does not grow with the width.","each row becomes shares that sum to one.","each row is a weighted mean of the values."],ot={X:"X",Wq:"W_q",Wk:"W_k",Wv:"W_v"},ae=["X","Q","S","scaled","A","O"],ne={X:"X",Wq:"W_q",Wk:"W_k",Wv:"W_v",Q:"Q = X W_q",K:"K = X W_k",V:"V = X W_v",S:"scores = Q Kᵀ",scaled:"scaled scores",A:"weights",O:"output = weights · V"},wt={Wq:"query",Q:"query",Wk:"key",K:"key",Wv:"value",V:"value",O:"output"},ct=1e6,$t=G({name:"calculator",title:"Attention calculator",keys:["X","W_q","W_k","W_v","tokens","stage","focus","scale","causal"],setup({model:t,body:e,say:n,set:a}){let r=[],o,u="",l=s=>a({stage:Math.min(Math.max(s,1),6),focus:[0,0]}),h=Q({label:"Stage",part:"stages",value:String(t.get("stage")),options:te.map((s,c)=>({value:String(c+1),text:`${c+1} ${s}`})),onChange:s=>l(Number(s))}),y=i("button",{type:"button","data-part":"previous",on:{click:()=>l(t.get("stage")-1)}},"← Back"),k=i("button",{type:"button","data-part":"next",on:{click:()=>l(t.get("stage")+1)}},"Next →"),M=i("button",{type:"button","data-part":"undo",on:{click:T}},"Undo"),j=i("input",{type:"checkbox","data-part":"causal",on:{change:()=>K({causal:j.checked})}}),F=i("p",{class:"attnlab-formula","data-part":"formula","aria-live":"polite"}),W=i("div",{class:"attnlab-mats"}),N=i("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Weights and output"});e.append(h,i("div",{class:"attnlab-row"},y,k,M,i("label",{style:"display: inline-flex; gap: .4rem; align-items: center; min-height: 32px"},j,"hide later tokens")),W,F,i("details",{open:!0},i("summary",{},"Weights and output as a table"),N));function T(){let s=r.pop();s?a(s):n("There is nothing to undo.")}function K(s){r.push(Object.fromEntries(Object.keys(s).map(c=>[c,structuredClone(t.get(c))]))),a(s)}function U(){let[s,c,f,w]=Object.values(ot).map(_=>re(_,t.get(_)));for(let[_,g]of[["W_q",c],["W_k",f],["W_v",w]])if(g.length!==s[0].length)throw new Error(`${_} must have as many rows as X has columns (${s[0].length}), it has ${g.length}.`);if(c[0].length!==f[0].length)throw new Error(`W_q and W_k must have as many columns as each other, they have ${c[0].length} and ${f[0].length}.`);return o=bt({x:s,wq:c,wk:f,wv:w,scale:t.get("scale"),causal:!!t.get("causal")}),{X:s,Wq:c,Wk:f,Wv:w,Q:o.q,K:o.k,V:o.v,S:o.scores,scaled:o.scaled,A:o.weights,O:o.output}}function B(){let s=U(),c=Number(t.get("stage")),f=t.get("tokens");if(f.length!==s.X.length)throw new Error(`tokens must name the ${s.X.length} rows of X, it names ${f.length}.`);D(h,String(c)),y.disabled=c<=1,k.disabled=c>=6,j.checked=!!t.get("causal");let w=[["X"],["X","Wq","Wk","Wv","Q","K","V"],["Q","K","S"],["S","scaled"],["scaled","A"],["A","V","O"]][c-1],_=ae[c-1],g=E(s,_),A=JSON.stringify([c,f,w.map(O=>[s[O].length,s[O][0].length])]);A!==u&&(u=A,W.replaceChildren(...w.map(O=>z(O,s[O],f))));let C=v(g);for(let O of w)q(O,s[O],g,C);let L=$(s,g,f);F.textContent=L,p(s,f),n(`Stage ${c} of 6: ${ee[c-1]}`)}function E(s,c){let f=t.get("focus"),w=f.length>2&&s[f[2]]?f[2]:c;return{name:w,row:Math.min(Number(f[0])||0,s[w].length-1),column:Math.min(Number(f[1])||0,s[w][0].length-1)}}function z(s,c,f){let w=!s.startsWith("W"),_=["S","scaled","A"].includes(s),g=c.map((C,L)=>i("tr",{},i("th",{scope:"row"},w?f[L]:String(L+1)),...C.map((O,X)=>{let P={"data-row":L,"data-column":X,"aria-label":`${s} row ${L+1} column ${X+1}`},Z=s in ot?x(s,L,X,P):d(s,L,X,P);return i("td",{class:"attnlab-cell"},Z)}))),A=c[0].map((C,L)=>i("th",{scope:"col"},_?f[L]:String(L+1)));return i("div",{class:"attnlab-scroll"},i("table",{"data-part":`matrix-${s}`,on:{keydown:b}},i("caption",{class:wt[s]?`is-${wt[s]}`:""},ne[s]+(s==="scaled"?` = scores × ${I(o.factor,3)}`:"")),i("thead",{},i("tr",{},i("td",{style:"border: 0"}),...A)),i("tbody",{},...g)))}function x(s,c,f,w){let _=i("input",{...w,type:"text",inputmode:"decimal"}),g=ot[s];return _.addEventListener("focus",()=>a({focus:[c,f,s]})),_.addEventListener("change",()=>{let A=xt(_.value);if(_.setAttribute("aria-invalid",String(A===null)),A===null){n(`“${_.value}” is not a number from −${ct} to ${ct}. ${g} row ${c+1}, column ${f+1} stays ${I(t.get(g)[c][f])}.`);return}let C=structuredClone(t.get(g));C[c][f]=A,K({[g]:C})}),_}function d(s,c,f,w){return i("button",{...w,type:"button",on:{click:()=>a({focus:[c,f,s]})}})}function b(s){let c=s.target,f={ArrowRight:[0,1],ArrowLeft:[0,-1],ArrowDown:[1,0],ArrowUp:[-1,0]}[s.key];if(s.key==="Enter"&&c.dispatchEvent(new Event("change")),!f||c instanceof HTMLInputElement&&f[1]&&c.selectionStart!==c.selectionEnd)return;let w=c.closest("table")?.querySelector(`[data-row="${Number(c.dataset.row)+f[0]}"][data-column="${Number(c.dataset.column)+f[1]}"]`);w instanceof HTMLElement&&(s.preventDefault(),w.focus(),w instanceof HTMLButtonElement&&w.click())}function q(s,c,f,w){for(let _ of W.querySelectorAll(`[data-part="matrix-${s}"] [data-row]`)){let g=_,[A,C]=[Number(g.dataset.row),Number(g.dataset.column)],L=c[A][C];g.tagName!=="INPUT"?(g.textContent=I(L,s==="A"?3:2),g.setAttribute("aria-label",`${g.textContent}, ${s} row ${A+1} column ${C+1}`)):(document.activeElement!==g||xt(g.value)!==null)&&(g.value=String(L));let O=g.parentElement;O.classList.toggle("is-focus",f.name===s&&f.row===A&&f.column===C),O.classList.toggle("is-source",w(s,A,C)),s==="A"&&Y(O,L)}}function p(s,c){let f=["token",...c.map(w=>`takes of ${w}`),...s.O[0].map((w,_)=>`output ${_+1}`)];N.replaceChildren(i("table",{"data-part":"numbers"},i("thead",{},i("tr",{},...f.map(w=>i("th",{scope:"col"},w)))),i("tbody",{},...c.map((w,_)=>i("tr",{},i("th",{scope:"row"},w),...[...s.A[_],...s.O[_]].map(g=>i("td",{},g.toFixed(4))))))))}function v({name:s,row:c,column:f}){let w={Q:["X","Wq"],K:["X","Wk"],V:["X","Wv"],S:["Q","K"],scaled:["S"],A:["scaled"],O:["A","V"]},[_,g]=w[s]??[];return(A,C,L)=>s==="scaled"?A==="S"&&C===c&&L===f:s==="S"?A==="Q"&&C===c||A==="K"&&C===f:A===_?C===c:A===g&&L===f}function $(s,{name:c,row:f,column:w},_){let g=s[c][f][w],A=(O,X)=>O.map((P,Z)=>`${I(P)} × ${P===O[Z]&&X[Z]<0?`(${I(X[Z])})`:I(X[Z])}`).join(" + "),C=(O,X)=>O.map(P=>P[X]),L=`[${f+1}, ${w+1}]`;if(c in ot){let O=c==="X"?`the vector of “${_[f]}”`:`what input ${f+1} adds to entry ${w+1}`;return`${ot[c]}${L} = ${I(g)}: ${O}. Type to change it.`}if(c==="Q"||c==="K"||c==="V")return`${c}${L} = ${A(s.X[f],C(s[`W${c.toLowerCase()}`],w))} = ${I(g)}`;if(c==="S")return`score${L}: query of “${_[f]}” · key of “${_[w]}” = ${A(s.Q[f],s.K[w])} = ${I(g)}`;if(c==="scaled"){if(g===-1/0)return`scaled${L} = −∞: “${_[w]}” comes later and is hidden.`;let O=t.get("scale")===null||t.get("scale")===void 0?`/ √${s.Q[0].length}`:`× ${I(o.factor,3)}`;return`scaled${L} = ${I(s.S[f][w])} ${O} = ${I(g)}`}if(c==="A"){let O=s.scaled[f].map(X=>X===-1/0?"0":`e^${I(X)}`);return`weight${L} = ${O[w]} / (${O.join(" + ")}) = ${I(g,3)}: “${_[f]}” takes ${I(100*g,1)} % of “${_[w]}”`}return`output${L} = ${A(s.A[f],C(s.V,w))} = ${I(g)}`}function S(){let s=f=>`torch.tensor(${JSON.stringify(t.get(f))}, dtype=torch.float64)`,c=t.get("scale");return`import torch

from attnlab import attention

x = ${s("X")}  # one row a token: ${t.get("tokens").join(", ")}
w_q = ${s("W_q")}
w_k = ${s("W_k")}
w_v = ${s("W_v")}
output, weights = attention(
    x @ w_q, x @ w_k, x @ w_v, scale=${c??"None"}, is_causal=${t.get("causal")?"True":"False"}, need_weights=True
)
print(weights)
print(output)
`}function m(){let{A:s}=U(),c=t.get("tokens"),f=s.flatMap((C,L)=>C.map((O,X)=>`<rect x="${80+X*64}" y="${36+L*40}" width="64" height="40" fill="#0069a8" fill-opacity="${(.52*O).toFixed(3)}" stroke="#d5dae0"/><text x="${112+X*64}" y="${61+L*40}">${I(O,3)}</text>`)),w=c.map((C,L)=>`<text x="40" y="${61+L*40}">${rt(C)}</text>`),_=c.map((C,L)=>`<text x="${112+L*64}" y="26">${rt(C)}</text>`),[g,A]=[90+64*c.length,46+40*c.length];return`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${g} ${A}" width="${g}" height="${A}" font-family="sans-serif" font-size="15" fill="#1b1f24" text-anchor="middle">${[...f,...w,..._].join("")}</svg>`}return{update:B,pytorch:S,svg:m}}});function xt(t){let e=t.trim().replace("−","-").replace(",","."),n=e===""?NaN:Number(e);return Number.isFinite(n)&&Math.abs(n)<=ct?n:null}function re(t,e){if(!(Array.isArray(e)&&e.length>0&&e.every(a=>Array.isArray(a)&&a.length>0&&a.length===e[0].length&&a.every(Number.isFinite))))throw new Error(`${t} must be rows of numbers, all of one length.`);return e}var oe=(t,e)=>{let n=t[0].length/e;return Array.from({length:e},(a,r)=>t.map(o=>o.slice(r*n,(r+1)*n)))};function kt(t,e){let n=t.length/e;return Array.from({length:e},(a,r)=>t[r*n].map((o,u)=>o.map((l,h)=>t.slice(r*n,(r+1)*n).reduce((y,k)=>y+k[u][h],0)/n)))}function At({x:t,wq:e,wk:n,wv:a},r,o){let[u,l,h]=[e,n,a].map(W=>oe(tt(t,W),r)),[y,k]=[kt(l,o),kt(h,o)],M=r/o,j=1/Math.sqrt(u[0][0].length),F=u.map((W,N)=>{let T=y[Math.floor(N/M)];return W.map(K=>H(T.map(U=>j*K.reduce((B,E,z)=>B+E*U[z],0))))});return{weights:F,outputs:F.map((W,N)=>tt(W,k[Math.floor(N/M)]))}}function qt(t){let[e,n]=[0,0];return t.forEach((a,r)=>t.slice(r+1).forEach(o=>a.forEach((u,l)=>{e+=u.reduce((h,y,k)=>h+Math.min(y,o[l][k]),0),n+=1}))),n?e/n:1}function St(t,e,n){let[a,r]=[At(t,e,n),At(t,e,e)],o=y=>y.reduce((k,M)=>k+M.reduce((j,F)=>j+F*F,0),0),u=a.outputs.map((y,k)=>o(y.map((M,j)=>M.map((F,W)=>F-r.outputs[k][j][W])))),l=r.outputs.map(o),h=y=>y.reduce((k,M)=>k+M,0);return{...a,errors:u.map((y,k)=>Math.sqrt(y/l[k])),error:Math.sqrt(h(u)/h(l)),overlap:qt(a.weights),ownOverlap:qt(r.weights)}}var _t=(t,e,n,a)=>4*t*e*n*a;var lt=["1","2","4","8"],Mt=360,se=118,Et=G({name:"heads",title:"Heads workshop",keys:["heads","kv_heads","token","length"],setup({model:t,body:e,say:n,set:a,signal:r}){let o=(x,d,b)=>Q({label:x,part:d,value:"8",options:lt.map(q=>({value:q,text:q})),onChange:q=>b(Number(q))}),u=o("Query heads","heads",x=>a({heads:x,kv_heads:Math.min(x,t.get("kv_heads"))})),l=o("Key/value heads","kv",x=>a({kv_heads:x,heads:Math.max(x,t.get("heads"))})),h,y=i("span"),k=R("svg",{viewBox:`0 0 ${Mt} ${se}`,role:"img","data-part":"wires",style:"width: 100%; max-width: 30rem; height: auto; display: block; margin: .8rem 0 0"}),M=i("input",{type:"range",min:10,max:17,step:1,"data-part":"length","aria-label":"Tokens in the cache",style:"flex: 1 1 8rem; min-height: 28px; accent-color: var(--fig-query)",on:{input:()=>a({length:2**Number(M.value)})}}),j=i("span",{class:"attnlab-label",style:"min-width: 6.5rem"}),[F,W,N]=["Where the heads look","What is lost and saved","Caches of published models"].map(x=>i("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":x,style:"margin-top: .8rem"})),T=x=>i("span",{class:"attnlab-label",style:"min-width: 7.5rem"},x);e.append(i("div",{class:"attnlab-row"},T("Query heads"),u),i("div",{class:"attnlab-row"},T("Key/value heads"),l),i("div",{class:"attnlab-row"},T("Look from"),y),k,F,W,i("div",{class:"attnlab-row",style:"margin-top: 1.2rem"},T("Published models at"),M,j),N);for(let x of["x","w_q","w_k","w_v","tokens","models"]){let d=()=>a({});t.on(`change:${x}`,d),r.addEventListener("abort",()=>t.off?.(`change:${x}`,d))}function K(){let[x,d,b,q]=["x","w_q","w_k","w_v"].map(s=>ie(s,t.get(s))),p=t.get("tokens"),[v,$]=[Number(t.get("heads")),Number(t.get("kv_heads"))];if(!lt.includes(String(v))||!lt.includes(String($))||$>v)throw new Error(`heads and kv_heads must be 1, 2, 4 or 8, and kv_heads at most heads; got ${v} and ${$}.`);if(p.length!==x.length)throw new Error(`tokens must name the ${x.length} rows of x, it names ${p.length}.`);for(let[s,c]of[["w_q",d],["w_k",b],["w_v",q]])if(c.length!==x[0].length||c[0].length%8||c[0].length!==d[0].length)throw new Error(`${s} must have ${x[0].length} rows and a width that 8 divides, the same for all three.`);let S=Number(t.get("token"));if(!(S>=0&&S<p.length))throw new Error(`token must be from 0 to ${p.length-1}, got ${S}.`);let m=Number(t.get("length"));if(!(m>=1))throw new Error(`length must be at least 1, got ${t.get("length")}.`);return{n:v,m:$,tokens:p,token:S,length:m,width:b[0].length,...St({x,wq:d,wk:b,wv:q},v,$)}}function U(){let x=K(),{n:d,m:b,tokens:q,token:p,length:v}=x;D(u,String(d)),D(l,String(b)),h?.dataset.names!==JSON.stringify(q)&&(h=Q({label:"Look from",part:"token",value:String(p),options:q.map((s,c)=>({value:String(c),text:s})),onChange:s=>a({token:Number(s)})}),h.dataset.names=JSON.stringify(q),y.replaceChildren(h)),D(h,String(p)),M.value=String(Math.log2(v)),M.setAttribute("aria-valuetext",`${v} tokens`),j.textContent=`${v.toLocaleString("en")} tokens`,B(d,b),E(x);let $=b===d?d===1?"One head":"Multi-head":b===1?"Multi-query":"Grouped-query",S=b===d?"all of the cache":`1/${d/b} of the cache`,m=b===d?"nothing is lost":`the output is off by ${I(100*x.error,0)} %`;n(`${$}: ${d} query ${d===1?"head":"heads"}, ${b} of keys and values. It keeps ${S}; ${m}.`)}function B(x,d){let b=(S,m)=>30+(S+.5)*(Mt-34)/m,q=(S,m,s)=>R("text",{x:2,y:m,"font-size":14,fill:`var(--fig-${s})`},S),p=(S,m,s)=>R("text",{x:S,y:m,"font-size":14,"text-anchor":"middle",fill:"var(--fig-ink)"},String(s+1)),v=Array.from({length:x},(S,m)=>[R("line",{x1:b(m,x),y1:34,x2:b(Math.floor(m*d/x),d),y2:78,stroke:"var(--fig-ink)","stroke-opacity":.45}),R("circle",{cx:b(m,x),cy:22,r:12,fill:"var(--fig-paper)",stroke:"var(--fig-query)","stroke-width":2.5}),p(b(m,x),27,m)]),$=Array.from({length:d},(S,m)=>[R("rect",{x:b(m,d)-16,y:78,width:16,height:16,fill:"var(--fig-key)"}),R("rect",{x:b(m,d),y:78,width:16,height:16,fill:"var(--fig-value)"}),p(b(m,d),111,m)]);k.replaceChildren(q("Q",27,"query"),q("K",91,"key"),q("V",91,"value"),...[...v,...$].flat()),k.children[2].setAttribute("x","13"),k.setAttribute("aria-label",`${x} query ${x===1?"head":"heads"} above, wired to ${d} key and value ${d===1?"head":"heads"} below`)}function E({n:x,m:d,tokens:b,token:q,length:p,width:v,weights:$,errors:S,error:m,overlap:s,ownOverlap:c}){let f=$.map((A,C)=>{let L=A[q].map(O=>{let X=i("td",{},O.toFixed(4));return Y(X,O),X});return[`head ${C+1}`,String(Math.floor(C*d/x)+1),...L,S[C].toFixed(4)]});F.replaceChildren(ut("numbers",`Where “${b[q]}” (word ${q+1}) looks`,["head","K/V head",...b,"error"],f));let w=2*v*d/x;W.replaceChildren(ut("sums","What is lost, and what is saved",["this layer","now","own K/V for each head"],[["error of the output",m.toFixed(4),"0.0000"],["two heads look alike",s.toFixed(4),c.toFixed(4)],["numbers cached for a token",String(w),String(2*v)],["bytes at 16 bits",String(2*w),String(4*v)]]));let _=t.get("models").map(([A,C,L,O,X])=>[A,String(C),`${L} / ${O}`,String(X),...[L,O].map(P=>(_t(C,P,X,p)/2**30).toFixed(3))]),g=["model","layers","heads / K/V heads","head width","GiB if all had their own","GiB as published"];N.replaceChildren(ut("caches","Keys and values of one text, at 16 bits",g,_))}function z(){let x=q=>`torch.tensor(${JSON.stringify(t.get(q))}, dtype=torch.float64)`,[d,b]=[t.get("heads"),t.get("kv_heads")];return`import torch

from attnlab import attention

x = ${x("x")}  # ${t.get("tokens").join(", ")}
w_q = ${x("w_q")}
w_k = ${x("w_k")}
w_v = ${x("w_v")}
heads, kv_heads, token = ${d}, ${b}, ${t.get("token")}
q, k, v = ((x @ w).unflatten(-1, (heads, -1)).transpose(0, 1) for w in (w_q, w_k, w_v))


def share(t):
    return t.unflatten(0, (kv_heads, -1)).mean(1).repeat_interleave(heads // kv_heads, 0)


full = attention(q, k, v)
output, weights = attention(q, share(k), share(v), need_weights=True)
print(weights[:, token])
print("error", ((output - full).norm() / full.norm()).item())
`}return{update:U,pytorch:z,svg:()=>st(k)}}});function ut(t,e,n,a){return i("table",{"data-part":t},i("caption",{},e),i("thead",{},i("tr",{},...n.map(r=>i("th",{scope:"col"},r)))),i("tbody",{},...a.map(([r,...o])=>i("tr",{},i("th",{scope:"row"},r),...o.map(u=>typeof u=="string"?i("td",{},u):u)))))}function ie(t,e){if(!(Array.isArray(e)&&e.length>0&&e.every(a=>Array.isArray(a)&&a.length===e[0].length&&a.length&&a.every(Number.isFinite))))throw new Error(`${t} must be rows of numbers, all of one length.`);return e}var Ct=(t,e,n)=>e.map(([a,r])=>n==="dot"?t[0]*a+t[1]*r:-((t[0]-a)**2+(t[1]-r)**2)/2);function Lt(t,e,n){let a=t.map(r=>r/n);if(e==="softmax")return H(a);if(e==="sparsemax")return ce(a);if(e==="relu")return a.map(r=>Math.max(r,0)/a.length);if(e==="none")return a;throw new Error(`weights must be softmax, sparsemax, relu or none, got “${e}”.`)}function ce(t){let e=t.slice().sort((r,o)=>o-r),[n,a]=[0,0];return e.forEach((r,o)=>{n+=r,1+(o+1)*r>n&&(a=(n-1)/(o+1))}),t.map(r=>Math.max(r-a,0))}var Wt=(t,e)=>{let n=a=>t.reduce((r,o,u)=>r+o*e[u][a],0);return[n(0),n(1)]};function Nt(t){let e=t.slice().sort((a,r)=>a[0]-r[0]||a[1]-r[1]),n=a=>{let r=[];for(let o of a){for(;r.length>1&&Tt(r[r.length-2],r[r.length-1],o)<=0;)r.pop();r.push(o)}return r.slice(0,-1)};return e.length<3?e:[...n(e),...n(e.reverse())]}function Ot(t,e){let n=e.length;return n<3?!0:e.every((a,r)=>Tt(a,e[(r+1)%n],t)>=-1e-9)}var Tt=(t,e,n)=>(e[0]-t[0])*(n[1]-t[1])-(e[1]-t[1])*(n[0]-t[0]);var V=3,J=360,jt=.1,et=t=>(t+V)/(2*V)*J,at=t=>(V-t)/(2*V)*J,zt=t=>Math.round(Math.min(Math.max(t,-V),V)*100)/100,It=G({name:"lookup",title:"Soft lookup",keys:["query","values","names","score","weights","temperature"],setup({model:t,body:e,say:n,set:a,signal:r}){let o=Q({label:"Score",part:"score",value:t.get("score"),options:[{value:"dot",text:"dot product"},{value:"distance",text:"closeness"}],onChange:d=>a({score:d})}),u=Q({label:"Weights",part:"weigh",value:t.get("weights"),options:["softmax","sparsemax","relu","none"].map(d=>({value:d,text:d})),onChange:d=>a({weights:d})}),l=i("input",{type:"range",min:-2,max:2,step:.05,"data-part":"temperature","aria-label":"Temperature",style:"flex: 1 1 8rem; min-height: 28px; accent-color: var(--fig-query)",on:{input:()=>a({temperature:Math.round(10**Number(l.value)*1e3)/1e3})}}),h=i("span",{class:"attnlab-label",style:"min-width: 3.5rem"}),y=R("svg",{viewBox:`0 0 ${J} ${J}`,role:"group","aria-label":"The plane of keys and values; each point can be dragged, or moved with the arrow keys","data-part":"plane",style:"width: 100%; max-width: 26rem; height: auto; touch-action: none; display: block; margin: .8rem auto 0"}),k=i("tbody");e.append(i("div",{class:"attnlab-row"},i("span",{class:"attnlab-label"},"Score by"),o),i("div",{class:"attnlab-row"},i("span",{class:"attnlab-label"},"Weights by"),u),i("div",{class:"attnlab-row"},i("span",{class:"attnlab-label"},"Temperature"),l,h),y,i("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Table of numbers",style:"margin-top: .8rem"},i("table",{"data-part":"numbers"},i("thead",{},i("tr",{},...["point","x","y","score","weight"].map(d=>i("th",{scope:"col"},d)))),k)));let M=[],j=R("polygon",{fill:"var(--fig-value)","fill-opacity":.12,stroke:"var(--fig-value)","stroke-opacity":.5}),F=R("g",{}),W=R("circle",{r:9,fill:"var(--fig-output)","data-part":"output","pointer-events":"none"}),N=R("text",{fill:"var(--fig-output)","font-size":14,"text-anchor":"middle","pointer-events":"none"},"output"),T=d=>d==="query"?t.get("query"):t.get("values")[d];function K(d,b,q){let p=[zt(b),zt(q)];a(d==="query"?{query:p}:{values:t.get("values").map((v,$)=>$===d?p:v)})}function U(d,b){let q=d==="query"?"query":"value",p=d==="query"?R("path",{d:"M 0 -11 L 11 0 L 0 11 L -11 0 Z",fill:`var(--fig-${q})`}):R("circle",{r:9,fill:`var(--fig-${q})`}),v=R("g",{tabindex:0,role:"slider","data-part":"handle","data-which":d,"aria-valuemin":-V,"aria-valuemax":V,style:"cursor: grab"},R("circle",{r:20,fill:"transparent"}),p,R("text",{y:-15,"text-anchor":"middle","font-size":14,fill:"var(--fig-ink)"},b));return gt(v,r,$=>{let S=y.getBoundingClientRect();K(d,($.clientX-S.left)/S.width*2*V-V,V-($.clientY-S.top)/S.height*2*V)}),v.addEventListener("keydown",$=>{let S=$.key,m={ArrowRight:[1,0],ArrowLeft:[-1,0],ArrowUp:[0,1],ArrowDown:[0,-1]}[S];if(!m)return;$.preventDefault();let[s,c]=T(d);K(d,s+jt*m[0],c+jt*m[1])}),v}function B(){M=[...t.get("names").map((p,v)=>U(v,p)),U("query","query")];let b=R("path",{d:`M 0 ${J/2} H ${J} M ${J/2} 0 V ${J}`,stroke:"var(--fig-line)"}),q=R("rect",{x:.5,y:.5,width:J-1,height:J-1,fill:"none",stroke:"var(--fig-line)",rx:8});y.replaceChildren(q,b,j,F,...M,W,N)}function E(){let d=t.get("values"),b=t.get("names"),q=s=>Array.isArray(s)&&s.length===2&&s.every(Number.isFinite);if(!Array.isArray(d)||!d.length||!d.every(q)||d.length!==b.length)throw new Error("values must be points (x, y), one for each name.");if(!q(t.get("query")))throw new Error("query must be a point (x, y).");let p=Number(t.get("temperature"));if(!(p>0))throw new Error(`temperature must be positive, got ${t.get("temperature")}.`);let v=t.get("query"),$=Ct(v,d,t.get("score")),S=Lt($,t.get("weights"),p),m=Wt(S,d);return{query:v,values:d,names:b,temperature:p,scores:$,weights:S,out:m,corners:Nt(d)}}function z(){let{query:d,values:b,names:q,temperature:p,scores:v,weights:$,out:S,corners:m}=E();M.length!==q.length+1&&B(),D(o,t.get("score")),D(u,t.get("weights")),l.value=String(Math.log10(p)),l.setAttribute("aria-valuetext",I(p,3)),h.textContent=I(p,p<1?3:2),M.forEach((g,A)=>{let C=A<q.length?A:"query",[L,O]=T(C);g.setAttribute("transform",`translate(${et(L)} ${at(O)})`);let X=C==="query"?"query":`key and value ${q[A]}`;g.setAttribute("aria-label",X),g.setAttribute("aria-valuenow",String(L)),g.setAttribute("aria-valuetext",`x ${I(L)}, y ${I(O)}`)}),j.setAttribute("points",m.map(([g,A])=>`${et(g)},${at(A)}`).join(" ")),F.replaceChildren(...b.map(([g,A],C)=>R("line",{x1:et(g),y1:at(A),x2:et(d[0]),y2:at(d[1]),stroke:$[C]<0?"var(--fig-key)":"var(--fig-query)","stroke-width":(.5+8*Math.min(Math.abs($[C]),1)).toFixed(2),"stroke-opacity":Math.abs($[C])<1e-9?.08:.45})));let s=S.map(g=>Math.min(Math.max(g,-V),V));W.setAttribute("cx",String(et(s[0]))),W.setAttribute("cy",String(at(s[1]))),N.setAttribute("x",String(et(s[0]))),N.setAttribute("y",String(at(s[1])+24));let c=(g,A,C)=>i("tr",{},i("th",{scope:"row"},g),...[A[0].toFixed(2),A[1].toFixed(2),...C].map(L=>i("td",{},L)));k.replaceChildren(c("query",d,["",""]),...b.map((g,A)=>c(q[A],g,[v[A].toFixed(4),$[A].toFixed(4)])),i("tr",{},i("th",{scope:"row"},"output"),...[S[0].toFixed(4),S[1].toFixed(4),"",$.reduce((g,A)=>g+A,0).toFixed(4)].map(g=>i("td",{},g))));let f=$.reduce((g,A)=>g+A,0),w=Ot(S,m)?"inside the hull of the values":"outside the hull of the values",_=$.indexOf(Math.max(...$));n(`The weights sum to ${I(f)}; the largest is ${I($[_])}, of ${q[_]}. The output is ${w}.`)}function x(){let d=v=>`torch.tensor(${JSON.stringify(t.get(v))}, dtype=torch.float64)`,b=t.get("temperature"),q=t.get("score")==="dot"?"values @ query":"-(values - query).square().sum(-1) / 2",p={softmax:"scores.softmax(z)",sparsemax:"scores.sparsemax(z)",relu:"scores.relu(z)",none:"z"};return`import torch

from attnlab import scores

query = ${d("query")}
values = ${d("values")}  # the keys too: ${t.get("names").join(", ")}
z = (${q}) / ${b}
weights = ${p[t.get("weights")]}
print(weights)
print(weights @ values)
`}return{update:z,pytorch:x,svg:()=>st(y)}}});var Ut=["n't","'s","'m","'re","'ve","'ll","'d"],Ft=new Set(`mr. mrs. ms. dr. prof. st. jr. sr. vs. etc. inc. co. corp. ltd. gen. rep. sen. gov. lt. col. no. ph.d. fig.
al. jan. feb. mar. apr. jun. jul. aug. sep. sept. oct. nov. dec. ave. blvd. rd. approx. dept. est.`.split(/\s+/)),le=/^(?:(?:[A-Za-z][A-Za-z0-9+.-]*:\/\/|[Ww][Ww][Ww]\.)[^ ]|[^@]+@[^@.]+\.[^@])/u,ue=/^(?:[A-Za-z]\.)+[A-Za-z]?\.?$/,de=t=>/^[\p{Z}\p{Cc}]$/u.test(t),nt=t=>/^[\p{L}\p{M}\p{N}_]$/u.test(t),dt=t=>/^\p{N}$/u.test(t),pe=t=>/^[\p{M}\p{Cf}\p{Sk}]$/u.test(t)&&t.codePointAt(0)>127,fe=t=>t.replaceAll("’","'").toLowerCase();function pt(t){let e=Array.from(t,r=>/^[\ud800-\udfff]$/.test(r)?"�":r),n=[],a="";for(let r of[...e," "])de(r)?a&&(n.push(...ge(a)),a=""):a+=r;return n}function Xt(t){let e=Array.from(t.toLowerCase()),n="",a="",r=0;for(let o of t){let u=he(o);r=u===a?r+1:1,a=u,r<=2&&(n+=u)}return[`w=${e.join("")}`,...[1,2,3].map(o=>`p${o}=${e.slice(0,o).join("")}`),...[1,2,3,4].map(o=>`s${o}=${e.slice(-o).join("")}`),`shape=${Array.from(n).slice(0,8).join("")}`]}function Kt(t,e,n){let a=(2166136261^e)>>>0;for(let r of new TextEncoder().encode(t))a=Math.imul(a^r,16777619)>>>0;return a%n}function he(t){return/^[\p{Lu}\p{Lt}]$/u.test(t)?"X":/^\p{L}$/u.test(t)?"x":dt(t)?"d":t}function ge(t){let[e,...n]=me(t),[a,r]=n,o=a+r;return Ft.has(o.toLowerCase())||ue.test(o)&&o.slice(0,-1).includes(".")?[a,r]=[o,""]:r.startsWith(".")&&Ft.has(`${a}.`.toLowerCase())&&([a,r]=[`${a}.`,r.slice(1)]),[...Rt(e),...le.test(a)?[a]:be(a),...Rt(r)]}function me(t){if(Ut.includes(fe(t)))return["",t,""];let e=Array.from(t),n=e.findIndex(nt);if(n<0)return[t,"",""];let a=e.findLastIndex(nt)+1;return[e.slice(0,n),e.slice(n,a),e.slice(a)].map(r=>r.join(""))}function Rt(t){let e=[];for(let n of t){let a=e.length?Array.from(e[e.length-1]).at(-1):"";a&&(n===a||pe(n)||a==="‍")?e[e.length-1]+=n:e.push(n)}return e}function be(t){if(!t)return[];let e=Array.from(t),n=[],a=0;for(let o=1;o<e.length-1;o++)!nt(e[o])&&!ye(e,o)&&(n.push(e.slice(a,o).join(""),e[o]),a=o+1);n.push(e.slice(a).join(""));let r=[];for(let o of n.filter(Boolean)){let u=Array.from(o),l=r.length?Array.from(r[r.length-1]).at(-1):"";u.length===1&&!nt(o)&&o===l?r[r.length-1]+=o:r.push(...ve(o))}return r}function ye(t,e){let[n,a,r]=[t[e-1],t[e],t[e+1]];return!nt(n)||!nt(r)?!1:".,:".includes(a)?dt(n)&&dt(r)||a===".":"'’&".includes(a)}function ve(t){let e=Array.from(t),n=Array.from(t.toLowerCase().replaceAll("’","'"));if(n.length!==e.length)return[t];let a=n.join("");if(a==="cannot")return[t.slice(0,3),t.slice(3)];for(let r of Ut)if(a.endsWith(r)&&n.length>r.length){let o=e.length-r.length;return[e.slice(0,o).join(""),e.slice(o).join("")]}return[t]}function ft(t){let e=new DataView(t.buffer,t.byteOffset,t.byteLength),n=Number(e.getBigUint64(0,!0)),a=JSON.parse(new TextDecoder().decode(t.subarray(8,8+n))),r={};for(let[u,{dtype:l,shape:h,data_offsets:y}]of Object.entries(a)){if(u==="__metadata__")continue;let[k,M]=y.map(W=>W+8+n),j=new Uint8Array(t.subarray(k,M)),F=l==="F32"?new Float32Array(j.buffer):l==="I8"?new Int8Array(j.buffer):j;r[u]={shape:h,dtype:l,data:Float64Array.from(F)}}let o={};for(let[u,l]of Object.entries(r))if(!u.endsWith(".scale"))if(!u.endsWith(".q"))o[u]=l;else{let h=u.slice(0,-2),y=r[`${h}.scale`].data;o[h]=l.dtype==="U8"?we(l,y):xe(l,y)}return{card:JSON.parse(a.__metadata__.card),tensors:o}}function we({shape:[t,e],data:n},a){let r=2*e,o=new Float64Array(t*r);for(let u=0;u<t;u++)for(let l=0;l<e;l++){let h=n[u*e+l];o[u*r+l]=Math.fround(((h&15)-8)*a[l]),o[u*r+e+l]=Math.fround(((h>>4)-8)*a[e+l])}return{shape:[t,r],data:o}}function xe({shape:t,data:e},n){return{shape:t,data:e.map((a,r)=>Math.fround(a*n[Math.floor(r/t[1])]))}}function Vt({card:t,tensors:e},n){let{n_buckets:a,d_model:r,n_heads:o,n_layers:u,seeds:l}=t.form,h=e["table.weight"].data,y=n.map(N=>{let T=new Array(r).fill(0);for(let K of Xt(N))for(let U of l){let B=Kt(K,U,a)*r;for(let E=0;E<r;E++)T[E]+=h[B+E]}return T}),k=(N,T)=>{let{shape:K,data:U}=e[`${T}.weight`],B=Array.from(e[`${T}.bias`].data);for(let E=0;E<K[0];E++)for(let z=0;z<K[1];z++)B[E]+=U[E*K[1]+z]*N[z];return B},M=(N,T)=>yt(N,e[`${T}.weight`].data,e[`${T}.bias`].data),j=[];for(let N=0;N<u;N++){let T=`layers.${N}`,K=y.map(b=>M(b,`${T}.norm`)),[U,B,E]=["q","k","v"].map(b=>K.map(q=>k(q,`${T}.attention.${b}_proj`))),z=U.length?U[0].length/o:0,x=[],d=n.map(()=>[]);for(let b=0;b<o;b++){let q=$=>$.slice(b*z,(b+1)*z),p=[U,B].map($=>$.map((S,m)=>vt(q(S),m))),v=p[0].map($=>H(p[1].map(S=>$.reduce((m,s,c)=>m+s*S[c],0)/Math.sqrt(z))));x.push(v),v.forEach(($,S)=>{for(let m=0;m<z;m++)d[S].push($.reduce((s,c,f)=>s+c*E[f][b*z+m],0))})}j.push(x),y=y.map((b,q)=>Bt(b,k(d[q],`${T}.attention.out_proj`))),y=y.map(b=>{let q=k(M(b,`${T}.norm2`),`${T}.up`).map(p=>Math.max(p,0));return Bt(b,k(q,`${T}.down`))})}let F=y.map(N=>H(k(M(N,"norm"),"out"))),W=F.map(N=>t.tags[N.indexOf(Math.max(...N))]);return{tokens:n,tags:W,probabilities:F,weights:j}}var Bt=(t,e)=>t.map((n,a)=>n+e[a]);var it=128,Dt=["I saw a saw","What do you do?","There were many hotels there.","Can you open the can?"];function ht(t,e){let n=t.flat(),[a,r]=e.split(".").map(Number),o=t[a-1]?.[r-1];if(o)return o;let u=n[0]?.length??0;return Array.from({length:u},(l,h)=>Array.from({length:u},(y,k)=>n.reduce((M,j)=>M+j[h][k],0)/n.length))}async function $e(t,e){let n=t.get("model");if(n?.byteLength)return ft(new Uint8Array(n.buffer??n,n.byteOffset??0,n.byteLength));let a=()=>globalThis.attnlabModels?.tagger;return a()||await new Promise((r,o)=>{let u=document.createElement("script");u.src=new URL("models/tagger-model.js",e??document.baseURI).href,u.onload=r,u.onerror=()=>o(new Error("its weights (models/tagger-model.js) did not load. Reload the page.")),document.head.append(u)}),ft(Uint8Array.from(atob(a()),r=>r.charCodeAt(0)))}var Qt=G({name:"tag",title:"Tag a sentence",keys:["sentence","word","head"],async setup({model:t,body:e,say:n,set:a,signal:r,place:o}){let u=await $e(t,o.base),{card:l}=u,h,y="",k=0,M=i("input",{type:"text","aria-label":"A sentence to tag","data-part":"sentence",autocomplete:"off",spellcheck:"false",dir:"auto",on:{input:()=>a({sentence:M.value,word:-1})}}),j=i("div",{class:"attnlab-row attnlab-examples"},i("span",{class:"attnlab-label"},"Try"));for(let p of Dt){let v=()=>a({sentence:p,word:p===Dt[0]?3:-1});j.append(i("button",{type:"button","data-part":"example",on:{click:v}},p))}let F=Q({label:"Which attention head",part:"heads",value:t.get("head"),options:[{value:"mean",text:"all heads"},...Array.from({length:l.form.n_layers*l.form.n_heads},(p,v)=>{let[$,S]=[Math.floor(v/l.form.n_heads)+1,v%l.form.n_heads+1],m=l.form.n_layers>1?`${$}.${S}`:String(S);return{value:`${$}.${S}`,text:m}})],onChange:p=>a({head:p})}),W=i("div",{class:"attnlab-tokens",role:"radiogroup","aria-label":"The words, each with its tag",on:{keydown:E}}),N=i("p",{"data-part":"alternatives"}),T=i("tbody"),K=i("table",{"data-part":"numbers"},i("caption",{},"Every number"),i("thead",{},i("tr",{},...["word","tag","probability","weight"].map(p=>i("th",{scope:"col"},p)))),T),U=l.form.n_layers>1?" (layer.head; layers look one after the other)":"";e.append(M,j,i("div",{class:"attnlab-row"},i("span",{class:"attnlab-label"},`Attention of${U}`),F),W,N,i("details",{},i("summary",{},"The numbers as a table"),i("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Table of numbers"},K)),i("p",{class:"attnlab-note","data-part":"card"},`Trained on ${l.data} (${l.licence}); ${l.accuracy.test} % of its test words come out right. It knows no more English than that.`));let B=new ResizeObserver(()=>q());B.observe(W),r.addEventListener("abort",()=>B.disconnect());function E(p){let v={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[p.key],$=h.tokens.length;!v||!$||(p.preventDefault(),a({word:(Math.max(t.get("word"),0)+v+$)%$}),W.querySelector('[tabindex="0"]')?.focus())}function z(){let p=String(t.get("sentence")??"");if(h&&p===y)return;y=p;let v=pt(p);k=Math.max(v.length-it,0),h=Vt(u,v.slice(0,it))}let x=()=>{let p=Number(t.get("word")??-1);return p>=0&&p<h.tokens.length?p:-1};function d(){z(),M.value!==y&&(M.value=y),D(F,t.get("head"));let p=x(),v=p<0?[]:ht(h.weights,t.get("head"))[p],$=W.contains(document.activeElement);W.replaceChildren(...h.tokens.map((S,m)=>{let s=Math.max(...h.probabilities[m]),c=i("button",{type:"button",class:"attnlab-token",role:"radio","aria-checked":m===p?"true":"false",tabindex:m===Math.max(p,0)?0:-1,"data-part":"token",on:{click:()=>a({word:m})}},i("b",{dir:"auto"},S),i("span",{},h.tags[m]),i("i",{},p<0?`${I(100*s,0)} %`:`gives ${I(100*v[m],0)} %`));return p>=0&&Y(c,v[m]),c})),$&&W.querySelector('[tabindex="0"]')?.focus(),T.replaceChildren(...h.tokens.map((S,m)=>i("tr",{},i("th",{scope:"row",dir:"auto"},S),i("td",{},h.tags[m]),i("td",{},Math.max(...h.probabilities[m]).toFixed(4)),i("td",{},p<0?"–":v[m].toFixed(4))))),b(p,v),q()}function b(p,v){if(!h.tokens.length){N.textContent="",n("Type a sentence: there is nothing to tag yet.");return}let $=k?` Only the first ${it} of ${it+k} words are shown.`:"";if(p<0){N.textContent="Pick a word to see where the tagger looked.",n(h.tokens.map((c,f)=>`${c} ${h.tags[f]}`).join(", ")+"."+$);return}let S=h.probabilities[p].map((c,f)=>({p:c,tag:l.tags[f]})).sort((c,f)=>f.p-c.p).slice(0,3);N.textContent=S.map(({p:c,tag:f})=>`${f} ${I(100*c,1)} %`).join(" · ");let m=v.indexOf(Math.max(...v)),s=m===p?"itself":`“${h.tokens[m]}” (word ${m+1})`;n(`“${h.tokens[p]}” (word ${p+1}) is ${h.tags[p]}. It takes most from ${s}: ${I(100*v[m],0)} %.${$}`)}function q(){W.querySelector("svg")?.remove();let p=x(),v=[...W.querySelectorAll(".attnlab-token")],$=v.length>1&&v.every(f=>f.offsetTop===v[0].offsetTop),S=p>=0&&$&&W.clientWidth>480;if(W.classList.toggle("has-arcs",S),!S)return;let m=ht(h.weights,t.get("head"))[p],s=R("svg",{class:"attnlab-arcs","aria-hidden":"true","data-part":"arcs"}),c=v.map(f=>f.offsetLeft+f.offsetWidth/2);v.forEach((f,w)=>{if(m[w]<.02)return;let[_,g]=[c[p],c[w]],A=w===p?26:Math.min(24+Math.abs(g-_)*.16,76),C=w===p?`M ${_-9} 82 C ${_-22} ${82-A*1.4}, ${_+22} ${82-A*1.4}, ${_+9} 82`:`M ${_} 82 C ${_} ${82-A}, ${g} ${82-A}, ${g} 82`;s.append(R("path",{d:C,fill:"none",stroke:"var(--fig-query)","stroke-width":(1+9*m[w]).toFixed(2),"stroke-opacity":(.25+.7*m[w]).toFixed(2),"stroke-linecap":"round"}))}),W.prepend(s)}return{update:d,pytorch:()=>ke(y,x(),t.get("head")),svg:()=>Ae(h,x(),t.get("head"))}}});function ke(t,e,n){let[a,r]=n.split(".").map(Number),o=n==="mean"?"tagged.weights.mean((0, 1))":`tagged.weights[${a-1}, ${r-1}]`,u=e<0?"":`weights = ${o}[${e}]  # how much word ${e} takes of each word
`;return`from attnlab.tagging import shipped

tagged = shipped.load().tag(${JSON.stringify(t)})
${u}for i, (token, tag) in enumerate(zip(tagged.tokens, tagged.tags)):
    print(token, tag, round(tagged.probabilities[i].max().item(), 4)${e<0?"":", round(weights[i].item(), 4)"})
`}function Ae(t,e,n){let a=e<0?[]:ht(t.weights,n)[e],r=110,o=t.tokens.map((l,h)=>{let y=10+h*r,k=a[h]??0;return`<rect x="${y}" y="10" width="${r-8}" height="76" rx="8" fill="#0069a8" fill-opacity="${(.52*k).toFixed(3)}" stroke="${h===e?"#0069a8":"#d5dae0"}" stroke-width="2"/><text x="${y+51}" y="36" font-size="18">${rt(l)}</text><text x="${y+51}" y="57" font-size="13">${t.tags[h]}</text><text x="${y+51}" y="76" font-size="13">${e<0?"":`${I(100*k,0)} %`}</text>`}),u=12+t.tokens.length*r;return`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${u} 96" width="${u}" height="96" font-family="sans-serif" fill="#1b1f24" text-anchor="middle">${o.join("")}</svg>`}var qe=Object.fromEntries([$t,Et,It,Qt].map(t=>[t.name,t])),Se=document.currentScript,_e=new URL(".",Se?.src||document.baseURI).href;function Me(t){let e=t.dataset.attnlab??"",n=qe[e];if(!n||t.dataset.mounted)return;t.dataset.mounted="true";let a=[...document.querySelectorAll(`figure[data-attnlab="${e}"]`)].indexOf(t),r=a?`${e}-${a+1}`:e;t.id||=`figure-${r}`;let o=JSON.parse(t.dataset.settings??"{}"),u=new URLSearchParams(location.search).get(r);u&&Object.assign(o,Ee(u,n.keys));let l=t.querySelector("figcaption"),h=document.createElement("div");t.replaceChildren(h,...l?[l]:[]);let y=k=>{let M=new URL(location.href);return M.searchParams.set(r,JSON.stringify(k)),M.hash=t.id,M.href};n.render({model:Ce(o),el:h,place:{base:_e,link:y}})}function Ee(t,e){try{let n=JSON.parse(t);return Object.fromEntries(Object.entries(n).filter(([a])=>e.includes(a)))}catch{return{}}}function Ce(t){return{get:e=>t[e],set:(e,n)=>{t[e]=n},save_changes(){},on(){}}}var Jt=()=>document.querySelectorAll("figure[data-attnlab]").forEach(t=>Me(t));document.readyState==="loading"?document.addEventListener("DOMContentLoaded",Jt):Jt();})();
