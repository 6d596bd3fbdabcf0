"use strict";(()=>{function s(t,e={},...r){let a=document.createElement(t);for(let[n,o]of Object.entries(e))if(n==="on")for(let[d,l]of Object.entries(o))a.addEventListener(d,l);else o===!0?a.setAttribute(n,""):o!=null&&o!==!1&&a.setAttribute(n,String(o));return a.append(...r.filter(n=>n!=null)),a}function I(t,e={},...r){let a=document.createElementNS("http://www.w3.org/2000/svg",t);for(let[n,o]of Object.entries(e))a.setAttribute(n,String(o));return a.append(...r),a}function T(t,e=2){if(t===-1/0)return"−∞";if(Math.abs(t)>=1e5)return t.toExponential(1).replace("-","−");let r=t.toFixed(e);return Number(r)===0?r.replace("-",""):r.replace("-","−")}function at({label:t,options:e,value:r,part:a,onChange:n}){let o=e.map(l=>s("button",{type:"button",role:"radio","aria-checked":l.value===r?"true":"false",tabindex:l.value===r?0:-1,"data-value":l.value,on:{click:()=>n(l.value)}},l.text)),d=s("div",{class:"attnlab-choices",role:"radiogroup","aria-label":t,"data-part":a});return d.append(...o),d.addEventListener("keydown",l=>{let h={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[l.key],w=o.findIndex(O=>O===l.target);if(!h||w<0)return;l.preventDefault();let S=o[(w+h+o.length)%o.length];G(d,S.dataset.value),S.focus(),n(S.dataset.value)}),d}function G(t,e){for(let r of t.querySelectorAll("button")){let a=r.dataset.value===e;r.setAttribute("aria-checked",String(a)),r.tabIndex=a?0:-1}}function ct(t,e,r="query"){let a=Math.round(52*Math.min(Math.max(e,0),1)*10)/10;t.style.backgroundColor=`color-mix(in srgb, var(--fig-${r}) ${a}%, transparent)`}var Mt=t=>t.replace(/[&<>"]/g,e=>`&#${e.charCodeAt(0)};`),Oe={query:"#0069a8",key:"#b04a00",value:"#00795a",output:"#a0307a",ink:"#1b1f24",line:"#d5dae0"};function wt(t){let e=t.cloneNode(!0);return e.setAttribute("xmlns","http://www.w3.org/2000/svg"),Object.entries(Oe).reduce((r,[a,n])=>r.replaceAll(`var(--fig-${a})`,n),e.outerHTML)}function Ct(t,e,r){t.addEventListener("pointerdown",a=>{let n=new AbortController;t.setPointerCapture(a.pointerId),t.addEventListener("pointermove",o=>r(o),{signal:AbortSignal.any([e,n.signal])});for(let o of["pointerup","pointercancel"])t.addEventListener(o,()=>n.abort(),{once:!0})},{signal:e})}var Vt=`/* The figures carry their own colours: in Lab and Colab there is no book theme around them. */
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
`;function nt(t){return{name:t.name,keys:t.keys,async render({model:e,el:r,signal:a,place:n={}}){let o=new AbortController;a?.addEventListener("abort",()=>o.abort()),Le(r);let d=Object.fromEntries(t.keys.map(C=>[C,structuredClone(e.get(C))])),l=s("div",{class:"attnlab-body"}),h=s("p",{class:"attnlab-status",role:"status","data-part":"status"}),w=s("p",{class:"attnlab-error",role:"alert","data-part":"error",hidden:!0}),S=s("div",{class:"attnlab-bar",role:"group","aria-label":`${t.title}: actions`}),O=s("div",{class:"attnlab-root","data-lm-suppress-shortcuts":"true","data-figure":t.name},l,w,h,S);r.replaceChildren(O);let F,U=C=>{try{C(),w.hidden=!0}catch(R){console.warn("attnlab figure:",R),w.textContent=`This figure could not be drawn: ${R instanceof Error?R.message:R}`,w.hidden=!1}},L=()=>U(()=>F?.update()),j=C=>{for(let[R,q]of Object.entries(C))e.set(R,q);e.save_changes(),L()},z=C=>{h.textContent!==C&&(h.textContent=C)};try{F=await t.setup({model:e,body:l,say:z,set:j,signal:o.signal,place:n})}catch(C){return U(()=>{throw C}),()=>o.abort()}let B=()=>Object.fromEntries(t.keys.map(C=>[C,e.get(C)]));S.append(X("Reset","reset",()=>(j(structuredClone(d)),"Reset.")),n.link?X("Copy link","link",()=>K(n.link(B()))):"",X("Copy as PyTorch","pytorch",()=>K(F.pytorch())),X("Save SVG","svg",()=>Ne(F.svg(),`attnlab-${t.name}.svg`))),L();for(let C of t.keys)e.on(`change:${C}`,L),o.signal.addEventListener("abort",()=>e.off?.(`change:${C}`,L));return()=>o.abort();function X(C,R,q){let g=s("button",{type:"button","data-part":R},C);return g.addEventListener("click",async()=>{try{z(await q())}catch(x){z(`That did not work: ${x instanceof Error?x.message:x}`)}}),g}async function K(C){O.querySelector(".attnlab-copied")?.remove();try{return await navigator.clipboard.writeText(C),"Copied."}catch{let R=s("textarea",{class:"attnlab-copied",readonly:!0,rows:Math.min(C.split(`
`).length,12),"aria-label":"Text to copy","data-part":"copied"});return R.value=C,S.after(R),R.focus(),R.select(),"The text is selected below: copy it with your keyboard."}}}}}function Ne(t,e){let r=URL.createObjectURL(new Blob([t],{type:"image/svg+xml"}));return s("a",{href:r,download:e}).click(),setTimeout(()=>URL.revokeObjectURL(r),1e4),`Saved ${e}.`}function Le(t){t.classList.add("attnlab-figure");let e=t.getRootNode(),r=e instanceof Document?e.head:e instanceof ShadowRoot?e:t;if(r.querySelector?.("style[data-attnlab]"))return;let a=s("style",{"data-attnlab":!0});a.textContent=Vt,r.append(a)}var xt=(t,e)=>t.map(r=>e[0].map((a,n)=>r.reduce((o,d,l)=>o+d*e[l][n],0))),Te=t=>t[0].map((e,r)=>t.map(a=>a[r]));function ot(t){let e=Math.max(...t);if(e===-1/0)return t.map(()=>0);let r=t.map(n=>Math.exp(n-e)),a=r.reduce((n,o)=>n+o,0);return r.map(n=>n/a)}function Qt({x:t,wq:e,wk:r,wv:a,scale:n=null,causal:o=!1}){let[d,l,h]=[e,r,a].map(U=>xt(t,U)),w=xt(d,Te(l)),S=n??1/Math.sqrt(d[0].length),O=w.map((U,L)=>U.map((j,z)=>o&&z>L?-1/0:j*S)),F=O.map(ot);return{q:d,k:l,v:h,scores:w,factor:S,scaled:O,weights:F,output:xt(F,h)}}function Ht(t,e,r){let a=t.length,n=0;for(let l=0;l<a;l++)n+=t[l]/a;let o=0;for(let l=0;l<a;l++)o+=(t[l]-n)**2/a;let d=Math.sqrt(o+1e-5);return Array.from({length:a},(l,h)=>(t[h]-n)/d*e[h]+r[h])}function Pt(t,e){let r=t.slice();for(let a=0;a<t.length;a+=2){let n=e*1e4**(-a/t.length),[o,d]=[Math.cos(n),Math.sin(n)];r[a]=t[a]*o-t[a+1]*d,r[a+1]=t[a]*d+t[a+1]*o}return r}var Ie=["Input","Q, K, V","Scores","Scaled","Weights","Output"],ze=["one row of numbers for each token.","three views of every token: what it looks for, offers and passes on.","every query against every key.","the scores, made smaller so that their spread does not grow with the width.","each row becomes shares that sum to one.","each row is a weighted mean of the values."],qt={X:"X",Wq:"W_q",Wk:"W_k",Wv:"W_v"},je=["X","Q","S","scaled","A","O"],Fe={X:"X",Wq:"W_q",Wk:"W_k",Wv:"W_v",Q:"Q = X W_q",K:"K = X W_k",V:"V = X W_v",S:"scores = Q Kᵀ",scaled:"scaled scores",A:"weights",O:"output = weights · V"},Jt={Wq:"query",Q:"query",Wk:"key",K:"key",Wv:"value",V:"value",O:"output"},zt=1e6,Zt=nt({name:"calculator",title:"Attention calculator",keys:["X","W_q","W_k","W_v","tokens","stage","focus","scale","causal"],setup({model:t,body:e,say:r,set:a}){let n=[],o,d="",l=i=>a({stage:Math.min(Math.max(i,1),6),focus:[0,0]}),h=at({label:"Stage",part:"stages",value:String(t.get("stage")),options:Ie.map((i,u)=>({value:String(u+1),text:`${u+1} ${i}`})),onChange:i=>l(Number(i))}),w=s("button",{type:"button","data-part":"previous",on:{click:()=>l(t.get("stage")-1)}},"← Back"),S=s("button",{type:"button","data-part":"next",on:{click:()=>l(t.get("stage")+1)}},"Next →"),O=s("button",{type:"button","data-part":"undo",on:{click:z}},"Undo"),F=s("input",{type:"checkbox","data-part":"causal",on:{change:()=>B({causal:F.checked})}}),U=s("p",{class:"attnlab-formula","data-part":"formula","aria-live":"polite"}),L=s("div",{class:"attnlab-mats"}),j=s("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Weights and output"});e.append(h,s("div",{class:"attnlab-row"},w,S,O,s("label",{style:"display: inline-flex; gap: .4rem; align-items: center; min-height: 32px"},F,"hide later tokens")),L,U,s("details",{open:!0},s("summary",{},"Weights and output as a table"),j));function z(){let i=n.pop();i?a(i):r("There is nothing to undo.")}function B(i){n.push(Object.fromEntries(Object.keys(i).map(u=>[u,structuredClone(t.get(u))]))),a(i)}function X(){let[i,u,b,M]=Object.values(qt).map(N=>Re(N,t.get(N)));for(let[N,v]of[["W_q",u],["W_k",b],["W_v",M]])if(v.length!==i[0].length)throw new Error(`${N} must have as many rows as X has columns (${i[0].length}), it has ${v.length}.`);if(u[0].length!==b[0].length)throw new Error(`W_q and W_k must have as many columns as each other, they have ${u[0].length} and ${b[0].length}.`);return o=Qt({x:i,wq:u,wk:b,wv:M,scale:t.get("scale"),causal:!!t.get("causal")}),{X:i,Wq:u,Wk:b,Wv:M,Q:o.q,K:o.k,V:o.v,S:o.scores,scaled:o.scaled,A:o.weights,O:o.output}}function K(){let i=X(),u=Number(t.get("stage")),b=t.get("tokens");if(b.length!==i.X.length)throw new Error(`tokens must name the ${i.X.length} rows of X, it names ${b.length}.`);G(h,String(u)),w.disabled=u<=1,S.disabled=u>=6,F.checked=!!t.get("causal");let M=[["X"],["X","Wq","Wk","Wv","Q","K","V"],["Q","K","S"],["S","scaled"],["scaled","A"],["A","V","O"]][u-1],N=je[u-1],v=C(i,N),c=JSON.stringify([u,b,M.map(f=>[i[f].length,i[f][0].length])]);c!==d&&(d=c,L.replaceChildren(...M.map(f=>R(f,i[f],b))));let m=k(v);for(let f of M)_(f,i[f],v,m);let y=A(i,v,b);U.textContent=y,p(i,b),r(`Stage ${u} of 6: ${ze[u-1]}`)}function C(i,u){let b=t.get("focus"),M=b.length>2&&i[b[2]]?b[2]:u;return{name:M,row:Math.min(Number(b[0])||0,i[M].length-1),column:Math.min(Number(b[1])||0,i[M][0].length-1)}}function R(i,u,b){let M=!i.startsWith("W"),N=["S","scaled","A"].includes(i),v=u.map((m,y)=>s("tr",{},s("th",{scope:"row"},M?b[y]:String(y+1)),...m.map((f,W)=>{let V={"data-row":y,"data-column":W,"aria-label":`${i} row ${y+1} column ${W+1}`},D=i in qt?q(i,y,W,V):g(i,y,W,V);return s("td",{class:"attnlab-cell"},D)}))),c=u[0].map((m,y)=>s("th",{scope:"col"},N?b[y]:String(y+1)));return s("div",{class:"attnlab-scroll"},s("table",{"data-part":`matrix-${i}`,on:{keydown:x}},s("caption",{class:Jt[i]?`is-${Jt[i]}`:""},Fe[i]+(i==="scaled"?` = scores × ${T(o.factor,3)}`:"")),s("thead",{},s("tr",{},s("td",{style:"border: 0"}),...c)),s("tbody",{},...v)))}function q(i,u,b,M){let N=s("input",{...M,type:"text",inputmode:"decimal"}),v=qt[i];return N.addEventListener("focus",()=>a({focus:[u,b,i]})),N.addEventListener("change",()=>{let c=Gt(N.value);if(N.setAttribute("aria-invalid",String(c===null)),c===null){r(`“${N.value}” is not a number from −${zt} to ${zt}. ${v} row ${u+1}, column ${b+1} stays ${T(t.get(v)[u][b])}.`);return}let m=structuredClone(t.get(v));m[u][b]=c,B({[v]:m})}),N}function g(i,u,b,M){return s("button",{...M,type:"button",on:{click:()=>a({focus:[u,b,i]})}})}function x(i){let u=i.target,b={ArrowRight:[0,1],ArrowLeft:[0,-1],ArrowDown:[1,0],ArrowUp:[-1,0]}[i.key];if(i.key==="Enter"&&u.dispatchEvent(new Event("change")),!b||u instanceof HTMLInputElement&&b[1]&&u.selectionStart!==u.selectionEnd)return;let M=u.closest("table")?.querySelector(`[data-row="${Number(u.dataset.row)+b[0]}"][data-column="${Number(u.dataset.column)+b[1]}"]`);M instanceof HTMLElement&&(i.preventDefault(),M.focus(),M instanceof HTMLButtonElement&&M.click())}function _(i,u,b,M){for(let N of L.querySelectorAll(`[data-part="matrix-${i}"] [data-row]`)){let v=N,[c,m]=[Number(v.dataset.row),Number(v.dataset.column)],y=u[c][m];v.tagName!=="INPUT"?(v.textContent=T(y,i==="A"?3:2),v.setAttribute("aria-label",`${v.textContent}, ${i} row ${c+1} column ${m+1}`)):(document.activeElement!==v||Gt(v.value)!==null)&&(v.value=String(y));let f=v.parentElement;f.classList.toggle("is-focus",b.name===i&&b.row===c&&b.column===m),f.classList.toggle("is-source",M(i,c,m)),i==="A"&&ct(f,y)}}function p(i,u){let b=["token",...u.map(M=>`takes of ${M}`),...i.O[0].map((M,N)=>`output ${N+1}`)];j.replaceChildren(s("table",{"data-part":"numbers"},s("thead",{},s("tr",{},...b.map(M=>s("th",{scope:"col"},M)))),s("tbody",{},...u.map((M,N)=>s("tr",{},s("th",{scope:"row"},M),...[...i.A[N],...i.O[N]].map(v=>s("td",{},v.toFixed(4))))))))}function k({name:i,row:u,column:b}){let M={Q:["X","Wq"],K:["X","Wk"],V:["X","Wv"],S:["Q","K"],scaled:["S"],A:["scaled"],O:["A","V"]},[N,v]=M[i]??[];return(c,m,y)=>i==="scaled"?c==="S"&&m===u&&y===b:i==="S"?c==="Q"&&m===u||c==="K"&&m===b:c===N?m===u:c===v&&y===b}function A(i,{name:u,row:b,column:M},N){let v=i[u][b][M],c=(f,W)=>f.map((V,D)=>`${T(V)} × ${V===f[D]&&W[D]<0?`(${T(W[D])})`:T(W[D])}`).join(" + "),m=(f,W)=>f.map(V=>V[W]),y=`[${b+1}, ${M+1}]`;if(u in qt){let f=u==="X"?`the vector of “${N[b]}”`:`what input ${b+1} adds to entry ${M+1}`;return`${qt[u]}${y} = ${T(v)}: ${f}. Type to change it.`}if(u==="Q"||u==="K"||u==="V")return`${u}${y} = ${c(i.X[b],m(i[`W${u.toLowerCase()}`],M))} = ${T(v)}`;if(u==="S")return`score${y}: query of “${N[b]}” · key of “${N[M]}” = ${c(i.Q[b],i.K[M])} = ${T(v)}`;if(u==="scaled"){if(v===-1/0)return`scaled${y} = −∞: “${N[M]}” comes later and is hidden.`;let f=t.get("scale")===null||t.get("scale")===void 0?`/ √${i.Q[0].length}`:`× ${T(o.factor,3)}`;return`scaled${y} = ${T(i.S[b][M])} ${f} = ${T(v)}`}if(u==="A"){let f=i.scaled[b].map(W=>W===-1/0?"0":`e^${T(W)}`);return`weight${y} = ${f[M]} / (${f.join(" + ")}) = ${T(v,3)}: “${N[b]}” takes ${T(100*v,1)} % of “${N[M]}”`}return`output${y} = ${c(i.A[b],m(i.V,M))} = ${T(v)}`}function E(){let i=b=>`torch.tensor(${JSON.stringify(t.get(b))}, dtype=torch.float64)`,u=t.get("scale");return`import torch

from attnlab import attention

x = ${i("X")}  # one row a token: ${t.get("tokens").join(", ")}
w_q = ${i("W_q")}
w_k = ${i("W_k")}
w_v = ${i("W_v")}
output, weights = attention(
    x @ w_q, x @ w_k, x @ w_v, scale=${u??"None"}, is_causal=${t.get("causal")?"True":"False"}, need_weights=True
)
print(weights)
print(output)
`}function $(){let{A:i}=X(),u=t.get("tokens"),b=i.flatMap((m,y)=>m.map((f,W)=>`<rect x="${80+W*64}" y="${36+y*40}" width="64" height="40" fill="#0069a8" fill-opacity="${(.52*f).toFixed(3)}" stroke="#d5dae0"/><text x="${112+W*64}" y="${61+y*40}">${T(f,3)}</text>`)),M=u.map((m,y)=>`<text x="40" y="${61+y*40}">${Mt(m)}</text>`),N=u.map((m,y)=>`<text x="${112+y*64}" y="26">${Mt(m)}</text>`),[v,c]=[90+64*u.length,46+40*u.length];return`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${v} ${c}" width="${v}" height="${c}" font-family="sans-serif" font-size="15" fill="#1b1f24" text-anchor="middle">${[...b,...M,...N].join("")}</svg>`}return{update:K,pytorch:E,svg:$}}});function Gt(t){let e=t.trim().replace("−","-").replace(",","."),r=e===""?NaN:Number(e);return Number.isFinite(r)&&Math.abs(r)<=zt?r:null}function Re(t,e){if(!(Array.isArray(e)&&e.length>0&&e.every(a=>Array.isArray(a)&&a.length>0&&a.length===e[0].length&&a.every(Number.isFinite))))throw new Error(`${t} must be rows of numbers, all of one length.`);return e}var Ue=(t,e)=>{let r=t[0].length/e;return Array.from({length:e},(a,n)=>t.map(o=>o.slice(n*r,(n+1)*r)))};function Yt(t,e){let r=t.length/e;return Array.from({length:e},(a,n)=>t[n*r].map((o,d)=>o.map((l,h)=>t.slice(n*r,(n+1)*r).reduce((w,S)=>w+S[d][h],0)/r)))}function te({x:t,wq:e,wk:r,wv:a},n,o){let[d,l,h]=[e,r,a].map(L=>Ue(xt(t,L),n)),[w,S]=[Yt(l,o),Yt(h,o)],O=n/o,F=1/Math.sqrt(d[0][0].length),U=d.map((L,j)=>{let z=w[Math.floor(j/O)];return L.map(B=>ot(z.map(X=>F*B.reduce((K,C,R)=>K+C*X[R],0))))});return{weights:U,outputs:U.map((L,j)=>xt(L,S[Math.floor(j/O)]))}}function ee(t){let[e,r]=[0,0];return t.forEach((a,n)=>t.slice(n+1).forEach(o=>a.forEach((d,l)=>{e+=d.reduce((h,w,S)=>h+Math.min(w,o[l][S]),0),r+=1}))),r?e/r:1}function ae(t,e,r){let[a,n]=[te(t,e,r),te(t,e,e)],o=w=>w.reduce((S,O)=>S+O.reduce((F,U)=>F+U*U,0),0),d=a.outputs.map((w,S)=>o(w.map((O,F)=>O.map((U,L)=>U-n.outputs[S][F][L])))),l=n.outputs.map(o),h=w=>w.reduce((S,O)=>S+O,0);return{...a,errors:d.map((w,S)=>Math.sqrt(w/l[S])),error:Math.sqrt(h(d)/h(l)),overlap:ee(a.weights),ownOverlap:ee(n.weights)}}var re=(t,e,r,a)=>4*t*e*r*a;var jt=["1","2","4","8"],ne=360,De=118,oe=nt({name:"heads",title:"Heads workshop",keys:["heads","kv_heads","token","length"],setup({model:t,body:e,say:r,set:a,signal:n}){let o=(q,g,x)=>at({label:q,part:g,value:"8",options:jt.map(_=>({value:_,text:_})),onChange:_=>x(Number(_))}),d=o("Query heads","heads",q=>a({heads:q,kv_heads:Math.min(q,t.get("kv_heads"))})),l=o("Key/value heads","kv",q=>a({kv_heads:q,heads:Math.max(q,t.get("heads"))})),h,w=s("span"),S=I("svg",{viewBox:`0 0 ${ne} ${De}`,role:"img","data-part":"wires",style:"width: 100%; max-width: 30rem; height: auto; display: block; margin: .8rem 0 0"}),O=s("input",{type:"range",min:10,max:17,step:1,"data-part":"length","aria-label":"Tokens in the cache",style:"flex: 1 1 8rem; min-height: 28px; accent-color: var(--fig-query)",on:{input:()=>a({length:2**Number(O.value)})}}),F=s("span",{class:"attnlab-label",style:"min-width: 6.5rem"}),[U,L,j]=["Where the heads look","What is lost and saved","Caches of published models"].map(q=>s("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":q,style:"margin-top: .8rem"})),z=q=>s("span",{class:"attnlab-label",style:"min-width: 7.5rem"},q);e.append(s("div",{class:"attnlab-row"},z("Query heads"),d),s("div",{class:"attnlab-row"},z("Key/value heads"),l),s("div",{class:"attnlab-row"},z("Look from"),w),S,U,L,s("div",{class:"attnlab-row",style:"margin-top: 1.2rem"},z("Published models at"),O,F),j);for(let q of["x","w_q","w_k","w_v","tokens","models"]){let g=()=>a({});t.on(`change:${q}`,g),n.addEventListener("abort",()=>t.off?.(`change:${q}`,g))}function B(){let[q,g,x,_]=["x","w_q","w_k","w_v"].map(i=>Xe(i,t.get(i))),p=t.get("tokens"),[k,A]=[Number(t.get("heads")),Number(t.get("kv_heads"))];if(!jt.includes(String(k))||!jt.includes(String(A))||A>k)throw new Error(`heads and kv_heads must be 1, 2, 4 or 8, and kv_heads at most heads; got ${k} and ${A}.`);if(p.length!==q.length)throw new Error(`tokens must name the ${q.length} rows of x, it names ${p.length}.`);for(let[i,u]of[["w_q",g],["w_k",x],["w_v",_]])if(u.length!==q[0].length||u[0].length%8||u[0].length!==g[0].length)throw new Error(`${i} must have ${q[0].length} rows and a width that 8 divides, the same for all three.`);let E=Number(t.get("token"));if(!(E>=0&&E<p.length))throw new Error(`token must be from 0 to ${p.length-1}, got ${E}.`);let $=Number(t.get("length"));if(!($>=1))throw new Error(`length must be at least 1, got ${t.get("length")}.`);return{n:k,m:A,tokens:p,token:E,length:$,width:x[0].length,...ae({x:q,wq:g,wk:x,wv:_},k,A)}}function X(){let q=B(),{n:g,m:x,tokens:_,token:p,length:k}=q;G(d,String(g)),G(l,String(x)),h?.dataset.names!==JSON.stringify(_)&&(h=at({label:"Look from",part:"token",value:String(p),options:_.map((i,u)=>({value:String(u),text:i})),onChange:i=>a({token:Number(i)})}),h.dataset.names=JSON.stringify(_),w.replaceChildren(h)),G(h,String(p)),O.value=String(Math.log2(k)),O.setAttribute("aria-valuetext",`${k} tokens`),F.textContent=`${k.toLocaleString("en")} tokens`,K(g,x),C(q);let A=x===g?g===1?"One head":"Multi-head":x===1?"Multi-query":"Grouped-query",E=x===g?"all of the cache":`1/${g/x} of the cache`,$=x===g?"nothing is lost":`the output is off by ${T(100*q.error,0)} %`;r(`${A}: ${g} query ${g===1?"head":"heads"}, ${x} of keys and values. It keeps ${E}; ${$}.`)}function K(q,g){let x=(E,$)=>30+(E+.5)*(ne-34)/$,_=(E,$,i)=>I("text",{x:2,y:$,"font-size":14,fill:`var(--fig-${i})`},E),p=(E,$,i)=>I("text",{x:E,y:$,"font-size":14,"text-anchor":"middle",fill:"var(--fig-ink)"},String(i+1)),k=Array.from({length:q},(E,$)=>[I("line",{x1:x($,q),y1:34,x2:x(Math.floor($*g/q),g),y2:78,stroke:"var(--fig-ink)","stroke-opacity":.45}),I("circle",{cx:x($,q),cy:22,r:12,fill:"var(--fig-paper)",stroke:"var(--fig-query)","stroke-width":2.5}),p(x($,q),27,$)]),A=Array.from({length:g},(E,$)=>[I("rect",{x:x($,g)-16,y:78,width:16,height:16,fill:"var(--fig-key)"}),I("rect",{x:x($,g),y:78,width:16,height:16,fill:"var(--fig-value)"}),p(x($,g),111,$)]);S.replaceChildren(_("Q",27,"query"),_("K",91,"key"),_("V",91,"value"),...[...k,...A].flat()),S.children[2].setAttribute("x","13"),S.setAttribute("aria-label",`${q} query ${q===1?"head":"heads"} above, wired to ${g} key and value ${g===1?"head":"heads"} below`)}function C({n:q,m:g,tokens:x,token:_,length:p,width:k,weights:A,errors:E,error:$,overlap:i,ownOverlap:u}){let b=A.map((c,m)=>{let y=c[_].map(f=>{let W=s("td",{},f.toFixed(4));return ct(W,f),W});return[`head ${m+1}`,String(Math.floor(m*g/q)+1),...y,E[m].toFixed(4)]});U.replaceChildren(Ft("numbers",`Where “${x[_]}” (word ${_+1}) looks`,["head","K/V head",...x,"error"],b));let M=2*k*g/q;L.replaceChildren(Ft("sums","What is lost, and what is saved",["this layer","now","own K/V for each head"],[["error of the output",$.toFixed(4),"0.0000"],["two heads look alike",i.toFixed(4),u.toFixed(4)],["numbers cached for a token",String(M),String(2*k)],["bytes at 16 bits",String(2*M),String(4*k)]]));let N=t.get("models").map(([c,m,y,f,W])=>[c,String(m),`${y} / ${f}`,String(W),...[y,f].map(V=>(re(m,V,W,p)/2**30).toFixed(3))]),v=["model","layers","heads / K/V heads","head width","GiB if all had their own","GiB as published"];j.replaceChildren(Ft("caches","Keys and values of one text, at 16 bits",v,N))}function R(){let q=_=>`torch.tensor(${JSON.stringify(t.get(_))}, dtype=torch.float64)`,[g,x]=[t.get("heads"),t.get("kv_heads")];return`import torch

from attnlab import attention

x = ${q("x")}  # ${t.get("tokens").join(", ")}
w_q = ${q("w_q")}
w_k = ${q("w_k")}
w_v = ${q("w_v")}
heads, kv_heads, token = ${g}, ${x}, ${t.get("token")}
q, k, v = ((x @ w).unflatten(-1, (heads, -1)).transpose(0, 1) for w in (w_q, w_k, w_v))


def share(t):
    return t.unflatten(0, (kv_heads, -1)).mean(1).repeat_interleave(heads // kv_heads, 0)


full = attention(q, k, v)
output, weights = attention(q, share(k), share(v), need_weights=True)
print(weights[:, token])
print("error", ((output - full).norm() / full.norm()).item())
`}return{update:X,pytorch:R,svg:()=>wt(S)}}});function Ft(t,e,r,a){return s("table",{"data-part":t},s("caption",{},e),s("thead",{},s("tr",{},...r.map(n=>s("th",{scope:"col"},n)))),s("tbody",{},...a.map(([n,...o])=>s("tr",{},s("th",{scope:"row"},n),...o.map(d=>typeof d=="string"?s("td",{},d):d)))))}function Xe(t,e){if(!(Array.isArray(e)&&e.length>0&&e.every(a=>Array.isArray(a)&&a.length===e[0].length&&a.length&&a.every(Number.isFinite))))throw new Error(`${t} must be rows of numbers, all of one length.`);return e}var se=(t,e,r)=>e.map(([a,n])=>r==="dot"?t[0]*a+t[1]*n:-((t[0]-a)**2+(t[1]-n)**2)/2);function ie(t,e,r){let a=t.map(n=>n/r);if(e==="softmax")return ot(a);if(e==="sparsemax")return Be(a);if(e==="relu")return a.map(n=>Math.max(n,0)/a.length);if(e==="none")return a;throw new Error(`weights must be softmax, sparsemax, relu or none, got “${e}”.`)}function Be(t){let e=t.slice().sort((n,o)=>o-n),[r,a]=[0,0];return e.forEach((n,o)=>{r+=n,1+(o+1)*n>r&&(a=(r-1)/(o+1))}),t.map(n=>Math.max(n-a,0))}var ce=(t,e)=>{let r=a=>t.reduce((n,o,d)=>n+o*e[d][a],0);return[r(0),r(1)]};function le(t){let e=t.slice().sort((a,n)=>a[0]-n[0]||a[1]-n[1]),r=a=>{let n=[];for(let o of a){for(;n.length>1&&de(n[n.length-2],n[n.length-1],o)<=0;)n.pop();n.push(o)}return n.slice(0,-1)};return e.length<3?e:[...r(e),...r(e.reverse())]}function ue(t,e){let r=e.length;return r<3?!0:e.every((a,n)=>de(a,e[(n+1)%r],t)>=-1e-9)}var de=(t,e,r)=>(e[0]-t[0])*(r[1]-t[1])-(e[1]-t[1])*(r[0]-t[0]);var Z=3,st=360,he=.1,vt=t=>(t+Z)/(2*Z)*st,$t=t=>(Z-t)/(2*Z)*st,pe=t=>Math.round(Math.min(Math.max(t,-Z),Z)*100)/100,fe=nt({name:"lookup",title:"Soft lookup",keys:["query","values","names","score","weights","temperature"],setup({model:t,body:e,say:r,set:a,signal:n}){let o=at({label:"Score",part:"score",value:t.get("score"),options:[{value:"dot",text:"dot product"},{value:"distance",text:"closeness"}],onChange:g=>a({score:g})}),d=at({label:"Weights",part:"weigh",value:t.get("weights"),options:["softmax","sparsemax","relu","none"].map(g=>({value:g,text:g})),onChange:g=>a({weights:g})}),l=s("input",{type:"range",min:-2,max:2,step:.05,"data-part":"temperature","aria-label":"Temperature",style:"flex: 1 1 8rem; min-height: 28px; accent-color: var(--fig-query)",on:{input:()=>a({temperature:Math.round(10**Number(l.value)*1e3)/1e3})}}),h=s("span",{class:"attnlab-label",style:"min-width: 3.5rem"}),w=I("svg",{viewBox:`0 0 ${st} ${st}`,role:"group","aria-label":"The plane of keys and values; each point can be dragged, or moved with the arrow keys","data-part":"plane",style:"width: 100%; max-width: 26rem; height: auto; touch-action: none; display: block; margin: .8rem auto 0"}),S=s("tbody");e.append(s("div",{class:"attnlab-row"},s("span",{class:"attnlab-label"},"Score by"),o),s("div",{class:"attnlab-row"},s("span",{class:"attnlab-label"},"Weights by"),d),s("div",{class:"attnlab-row"},s("span",{class:"attnlab-label"},"Temperature"),l,h),w,s("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Table of numbers",style:"margin-top: .8rem"},s("table",{"data-part":"numbers"},s("thead",{},s("tr",{},...["point","x","y","score","weight"].map(g=>s("th",{scope:"col"},g)))),S)));let O=[],F=I("polygon",{fill:"var(--fig-value)","fill-opacity":.12,stroke:"var(--fig-value)","stroke-opacity":.5}),U=I("g",{}),L=I("circle",{r:9,fill:"var(--fig-output)","data-part":"output","pointer-events":"none"}),j=I("text",{fill:"var(--fig-output)","font-size":14,"text-anchor":"middle","pointer-events":"none"},"output"),z=g=>g==="query"?t.get("query"):t.get("values")[g];function B(g,x,_){let p=[pe(x),pe(_)];a(g==="query"?{query:p}:{values:t.get("values").map((k,A)=>A===g?p:k)})}function X(g,x){let _=g==="query"?"query":"value",p=g==="query"?I("path",{d:"M 0 -11 L 11 0 L 0 11 L -11 0 Z",fill:`var(--fig-${_})`}):I("circle",{r:9,fill:`var(--fig-${_})`}),k=I("g",{tabindex:0,role:"slider","data-part":"handle","data-which":g,"aria-valuemin":-Z,"aria-valuemax":Z,style:"cursor: grab"},I("circle",{r:20,fill:"transparent"}),p,I("text",{y:-15,"text-anchor":"middle","font-size":14,fill:"var(--fig-ink)"},x));return Ct(k,n,A=>{let E=w.getBoundingClientRect();B(g,(A.clientX-E.left)/E.width*2*Z-Z,Z-(A.clientY-E.top)/E.height*2*Z)}),k.addEventListener("keydown",A=>{let E=A.key,$={ArrowRight:[1,0],ArrowLeft:[-1,0],ArrowUp:[0,1],ArrowDown:[0,-1]}[E];if(!$)return;A.preventDefault();let[i,u]=z(g);B(g,i+he*$[0],u+he*$[1])}),k}function K(){O=[...t.get("names").map((p,k)=>X(k,p)),X("query","query")];let x=I("path",{d:`M 0 ${st/2} H ${st} M ${st/2} 0 V ${st}`,stroke:"var(--fig-line)"}),_=I("rect",{x:.5,y:.5,width:st-1,height:st-1,fill:"none",stroke:"var(--fig-line)",rx:8});w.replaceChildren(_,x,F,U,...O,L,j)}function C(){let g=t.get("values"),x=t.get("names"),_=i=>Array.isArray(i)&&i.length===2&&i.every(Number.isFinite);if(!Array.isArray(g)||!g.length||!g.every(_)||g.length!==x.length)throw new Error("values must be points (x, y), one for each name.");if(!_(t.get("query")))throw new Error("query must be a point (x, y).");let p=Number(t.get("temperature"));if(!(p>0))throw new Error(`temperature must be positive, got ${t.get("temperature")}.`);let k=t.get("query"),A=se(k,g,t.get("score")),E=ie(A,t.get("weights"),p),$=ce(E,g);return{query:k,values:g,names:x,temperature:p,scores:A,weights:E,out:$,corners:le(g)}}function R(){let{query:g,values:x,names:_,temperature:p,scores:k,weights:A,out:E,corners:$}=C();O.length!==_.length+1&&K(),G(o,t.get("score")),G(d,t.get("weights")),l.value=String(Math.log10(p)),l.setAttribute("aria-valuetext",T(p,3)),h.textContent=T(p,p<1?3:2),O.forEach((v,c)=>{let m=c<_.length?c:"query",[y,f]=z(m);v.setAttribute("transform",`translate(${vt(y)} ${$t(f)})`);let W=m==="query"?"query":`key and value ${_[c]}`;v.setAttribute("aria-label",W),v.setAttribute("aria-valuenow",String(y)),v.setAttribute("aria-valuetext",`x ${T(y)}, y ${T(f)}`)}),F.setAttribute("points",$.map(([v,c])=>`${vt(v)},${$t(c)}`).join(" ")),U.replaceChildren(...x.map(([v,c],m)=>I("line",{x1:vt(v),y1:$t(c),x2:vt(g[0]),y2:$t(g[1]),stroke:A[m]<0?"var(--fig-key)":"var(--fig-query)","stroke-width":(.5+8*Math.min(Math.abs(A[m]),1)).toFixed(2),"stroke-opacity":Math.abs(A[m])<1e-9?.08:.45})));let i=E.map(v=>Math.min(Math.max(v,-Z),Z));L.setAttribute("cx",String(vt(i[0]))),L.setAttribute("cy",String($t(i[1]))),j.setAttribute("x",String(vt(i[0]))),j.setAttribute("y",String($t(i[1])+24));let u=(v,c,m)=>s("tr",{},s("th",{scope:"row"},v),...[c[0].toFixed(2),c[1].toFixed(2),...m].map(y=>s("td",{},y)));S.replaceChildren(u("query",g,["",""]),...x.map((v,c)=>u(_[c],v,[k[c].toFixed(4),A[c].toFixed(4)])),s("tr",{},s("th",{scope:"row"},"output"),...[E[0].toFixed(4),E[1].toFixed(4),"",A.reduce((v,c)=>v+c,0).toFixed(4)].map(v=>s("td",{},v))));let b=A.reduce((v,c)=>v+c,0),M=ue(E,$)?"inside the hull of the values":"outside the hull of the values",N=A.indexOf(Math.max(...A));r(`The weights sum to ${T(b)}; the largest is ${T(A[N])}, of ${_[N]}. The output is ${M}.`)}function q(){let g=k=>`torch.tensor(${JSON.stringify(t.get(k))}, dtype=torch.float64)`,x=t.get("temperature"),_=t.get("score")==="dot"?"values @ query":"-(values - query).square().sum(-1) / 2",p={softmax:"scores.softmax(z)",sparsemax:"scores.sparsemax(z)",relu:"scores.relu(z)",none:"z"};return`import torch

from attnlab import scores

query = ${g("query")}
values = ${g("values")}  # the keys too: ${t.get("names").join(", ")}
z = (${_}) / ${x}
weights = ${p[t.get("weights")]}
print(weights)
print(weights @ values)
`}return{update:R,pytorch:q,svg:()=>wt(w)}}});var bt=64,pt=8,lt=Array.from({length:11},(t,e)=>2**e),Ot=1024;function ge(t){return t=Math.imul(t^t>>>16,2246822507),t=Math.imul(t^t>>>13,3266489909),(t^t>>>16)>>>0}function Ke(t,e){let r=ge(t+2654435769),a=o=>(ge(o+r>>>0)+.5)/2**32,n=new Float64Array(e);for(let o=0;o<e;o+=2){let d=Math.sqrt(-2*Math.log(a(o))),l=2*Math.PI*a(o+1);n[o]=d*Math.cos(l),n[o+1]=d*Math.sin(l)}return n}function me(t){let e=Ke(t,bt*(1+pt)*Ot),r=lt.map(()=>Array.from({length:bt},()=>new Array(pt).fill(0)));for(let a=0;a<bt;a++){let n=a*(1+pt)*Ot;for(let o=0;o<pt;o++){let d=n+(1+o)*Ot,[l,h]=[0,0];for(let w=0;w<Ot;w++)l+=e[n+w]*e[d+w],w+1===lt[h]&&(r[h++][a][o]=l)}}return r}function Rt(t){let e=ot(t),r=e.reduce((d,l)=>l>0?d-l*Math.log(l):d,0),a=e.map((d,l)=>e.reduce((h,w,S)=>S===l?h:h+d*w,0)),n=0;e.forEach((d,l)=>e.forEach((h,w)=>n+=(l===w?a[l]:d*h)**2));let o=Math.sqrt(n);return{weights:e,slopes:a,entropy:r,share:r/Math.log(t.length),largest:Math.max(...a),norm:o,left:o/Math.sqrt(t.length)}}function be(t){let e=t.slice().sort((a,n)=>a-n),r=e.length>>1;return e.length%2?e[r]:(e[r-1]+e[r])/2}function Wt(t){let e=t.reduce((r,a)=>r+a,0)/t.length;return Math.sqrt(t.reduce((r,a)=>r+(a-e)**2,0)/t.length)}function ye(t,e,r){let a=new Array(r).fill(0);for(let n of t){let o=Math.floor((n+e)/(2*e)*r);a[Math.min(Math.max(o,0),r-1)]+=1}return a}var Y=4,Nt=.1,Lt=.01,kt=300,tt=6,Ut=32,[_t,we,yt,Et,it,ut]=[92,70,200,12,358,72],Ve=[["entropy (nats)","entropy",Math.log(pt)],["entropy / ln n","share",1],["largest Jacobian entry","largest",.25],["norm of the Jacobian","norm",.5],["left of a gradient of 1","left",.5/Math.SQRT2]],Tt=t=>t===0?"0":t>=.001?t.toFixed(4):t.toExponential(1),xe=nt({name:"saturation",title:"Temperature and √d",keys:["scores","names","d_k","temperature","scaled","seed"],setup({model:t,body:e,say:r,set:a,signal:n}){let o,d=c=>(o?.seed!==c&&(o={seed:c,scores:me(c)}),o.scores),l=(c,m,y,f)=>{let W=s("input",{type:"range",...y,"data-part":c,"aria-label":m,style:"flex: 1 1 7rem; min-width: 0; min-height: 28px; accent-color: var(--fig-query)",on:{input:()=>f(Number(W.value))}});return W},h=(...c)=>s("span",{class:"attnlab-label",style:"flex: none; width: 6rem"},...c),w=()=>s("span",{style:"min-width: 3.2rem; font-variant-numeric: tabular-nums"}),S=l("width","Width d_k",{min:0,max:lt.length-1,step:1},c=>a({d_k:lt[c]})),O=l("temperature","Temperature",{min:-2,max:2,step:.05},c=>a({temperature:Math.round(10**c*1e3)/1e3})),[F,U]=[w(),w()],L=at({label:"Divide by the root of d_k",part:"scale",value:"on",options:[{value:"on",text:"yes"},{value:"off",text:"no"}],onChange:c=>a({scaled:c==="on"})}),j=s("button",{type:"button","data-part":"draw",on:{click:()=>a({seed:t.get("seed")+1,scores:[]})}},"New samples"),z=I("svg",{viewBox:`0 0 ${kt} ${it+22}`,role:"group","aria-label":"Sampled scores, and below them the row of scores with its weights; each score can be dragged, or moved with the arrow keys","data-part":"plane",style:"flex: 1 1 17rem; min-width: 0; width: 100%; max-width: 26rem; height: auto; display: block"}),[B,X]=[s("tbody"),s("tbody")],K=(c,m,y,f)=>s("div",{class:"attnlab-scroll attnlab-tight",tabindex:0,role:"group","aria-label":m,style:"margin-bottom: .8rem"},s("table",{"data-part":c},s("thead",{},s("tr",{},...y.map(W=>s("th",{scope:"col"},W)))),f));e.append(s("div",{class:"attnlab-row",style:"flex-wrap: nowrap"},h("Width d",s("sub",{},"k")),S,F),s("div",{class:"attnlab-row",style:"flex-wrap: nowrap"},h("Temperature"),O,U),s("div",{class:"attnlab-row"},h("Divide by √d"),L,j),s("div",{style:"display: flex; flex-wrap: wrap; gap: 0 1.6rem; align-items: flex-start; margin-top: .8rem"},z,s("div",{style:"flex: 1 1 17rem; min-width: 0"},K("measures","Measures of this row and of the sampled rows",["measure","this row",`median of ${bt} rows`],X),K("numbers","The row of scores",["key","score","weight p","slope p(1 − p)"],B))));let C=(c,m="")=>I("text",{"font-size":11,fill:"var(--fig-ink)",...c},m),R=I("g",{}),q=I("g",{}),g=C({x:tt,y:12}),x=[],_=()=>(kt-2*tt)/t.get("names").length,p=c=>tt+(c+.5)*_(),k=c=>Math.round(Math.min(Math.max(c,-Y),Y)*100)/100;function A(){if(t.get("scores").length)return t.get("scores");let c=Math.sqrt(t.get("d_k"));return d(t.get("seed"))[lt.indexOf(t.get("d_k"))][0].slice(0,t.get("names").length).map(m=>m/c)}let E=(c,m)=>a({scores:A().map((y,f)=>k(f===c?m:y))});function $(c,m){let y=I("g",{tabindex:0,role:"slider","data-part":"handle","data-which":m,"aria-label":`score of key ${c}`,"aria-orientation":"vertical","aria-valuemin":-Y,"aria-valuemax":Y,style:"cursor: ns-resize; touch-action: none"},I("rect",{x:-_()/2,y:yt-Y*Et-14,width:_(),height:2*Y*Et+20,fill:"transparent"}),I("line",{y1:yt,y2:yt,stroke:"var(--fig-key)","stroke-width":3}),I("circle",{r:8,fill:"var(--fig-key)"}),C({"text-anchor":"middle","font-size":10}));return y.setAttribute("transform",`translate(${p(m)} 0)`),Ct(y,n,f=>{let W=z.getBoundingClientRect();E(m,(yt-(f.clientY-W.top)/W.width*kt)/Et)}),y.addEventListener("keydown",f=>{let W=f.key,V={ArrowUp:Nt,ArrowRight:Nt,ArrowDown:-Nt,ArrowLeft:-Nt,PageUp:1,PageDown:-1}[W],D=V?A()[m]+V:{Home:-Y,End:Y}[W];D!==void 0&&(f.preventDefault(),E(m,D))}),y}function i(){let c=t.get("names");x=c.map($);let m=f=>I("path",{d:`M ${tt} ${f} H ${kt-tt}`,stroke:"var(--fig-line)"}),y=f=>f.length*6>_()?`${f.slice(0,Math.floor(_()/6)-1)}…`:f;z.replaceChildren(R,g,m(_t),m(yt),C({x:tt,y:yt-Y*Et-18},"this row’s scores (drag them)"),...x,m(it),q,...c.map((f,W)=>C({x:p(W),y:it+14,"text-anchor":"middle"},y(f))))}function u(){let[c,m,y,f]=["names","scores","d_k","seed"].map(H=>t.get(H)),W=Number(t.get("temperature"));if(!Array.isArray(c)||c.length<2||c.length>pt)throw new Error(`names must be 2 to ${pt} names.`);let V=H=>Number.isFinite(H)&&Math.abs(H)<=Y;if(!Array.isArray(m)||m.length&&m.length!==c.length||!m.every(V))throw new Error(`scores must be numbers between -${Y} and ${Y}, one for each name, or none.`);if(!lt.includes(y))throw new Error(`d_k must be a power of two from 1 to 1024, got ${y}.`);if(!(W>0))throw new Error(`temperature must be positive, got ${t.get("temperature")}.`);if(!Number.isInteger(f)||f<0)throw new Error(`seed must be a whole number, 0 or larger, got ${f}.`);let D=!!t.get("scaled"),ft=D?1/Math.sqrt(y):1,gt=d(f)[lt.indexOf(y)].map(H=>H.map(P=>P*ft)),Q=A().map(H=>D?H:H*Math.sqrt(y)),dt=Rt(Q.map(H=>H/W)),rt=gt.map(H=>Rt(H.slice(0,c.length).map(P=>P/W)));return{names:c,d_k:y,T:W,scaled:D,samples:gt,row:Q,ours:dt,theirs:rt}}function b(c,m,y){let f=4*y,W=Q=>tt+(Math.min(Math.max(Q,-f),f)+f)/(2*f)*(kt-2*tt),V=ye(c,f,Ut),D=Q=>Math.min(Q*y/.4*.72*we,we),ft=2*f/Ut,gt=Q=>Array.from({length:193},(dt,rt)=>{let H=-f+rt/192*2*f,P=_t-D(Math.exp(-((H/Q)**2)/2)/(Q*Math.sqrt(2*Math.PI)));return`${rt?"L":"M"} ${W(H).toFixed(1)} ${P.toFixed(1)}`}).join(" ");R.replaceChildren(...V.map((Q,dt)=>{let rt=D(Q/c.length/ft);return I("rect",{x:W(-f+dt*ft)+.5,y:_t-rt,width:(kt-2*tt)/Ut-1,height:rt,fill:"var(--fig-key)","fill-opacity":.45})}),I("path",{d:gt(1),fill:"none",stroke:"var(--fig-ink)","stroke-width":1.2,"stroke-dasharray":"4 3"}),...m.map(Q=>I("path",{d:`M ${W(Q)} ${_t+1} l 4 7 h -8 Z`,fill:"var(--fig-key)"})),...[-.75,-.5,-.25,0,.25,.5,.75].map(Q=>C({x:W(Q*f),y:_t+20,"text-anchor":"middle","font-size":10},T(Q*f,Number.isInteger(Q*f)?0:1)))),g.textContent=`${c.length} sampled scores: spread ${T(Wt(c))}, dashed: spread 1`}function M(c){let m=Math.min(_()/3,16);q.replaceChildren(I("rect",{x:tt,y:it-ut-35,width:9,height:9,fill:"var(--fig-query)"}),C({x:tt+13,y:it-ut-27},"weight p"),I("rect",{x:tt+74,y:it-ut-35,width:9,height:9,fill:"none",stroke:"var(--fig-ink)","stroke-width":1.4}),C({x:tt+87,y:it-ut-27},"slope p(1 − p), four times as high"),...c.weights.flatMap((y,f)=>[I("rect",{x:p(f)-m,y:it-ut*y,width:m,height:ut*y,fill:"var(--fig-query)"}),I("rect",{x:p(f)+1,y:it-ut*4*c.slopes[f],width:m-1,height:ut*4*c.slopes[f],fill:"none",stroke:"var(--fig-ink)","stroke-width":c.slopes[f]<.002?0:1.4}),C({x:p(f),y:it-ut*Math.max(y,4*c.slopes[f])-5,"text-anchor":"middle","font-size":10},T(y))]))}function N(){let{names:c,d_k:m,T:y,scaled:f,samples:W,row:V,ours:D,theirs:ft}=u();x.length!==c.length&&i(),S.value=String(lt.indexOf(m)),S.setAttribute("aria-valuetext",String(m)),F.textContent=String(m),O.value=String(Math.log10(y)),U.textContent=T(y,y<1?3:2),O.setAttribute("aria-valuetext",T(y,3)),G(L,f?"on":"off");let gt=W.flat();b(gt,V,f?1:Math.sqrt(m)),M(D),A().forEach((P,J)=>{let et=yt-Et*Math.min(Math.max(P,-Y),Y),[,ht,mt,St]=x[J].children;ht.setAttribute("y2",String(et)),mt.setAttribute("cy",String(et)),St.setAttribute("y",String(P<0?et+19:et-11)),St.textContent=T(V[J],Math.abs(V[J])<10?1:0),x[J].setAttribute("aria-valuenow",String(k(P))),x[J].setAttribute("aria-valuetext",`${T(V[J])}, weight ${T(D.weights[J])}`)}),B.replaceChildren(...c.map((P,J)=>{let et=[V[J].toFixed(4),Tt(D.weights[J]),Tt(D.slopes[J])].map(ht=>s("td",{},ht));return ct(et[1],D.weights[J]),s("tr",{},s("th",{scope:"row"},P),...et)}));let Q=ft.filter(P=>P.largest<Lt).length,dt=(P,J,et=[])=>s("tr",{},s("th",{scope:"row",style:"text-align: left"},P),...J.map((ht,mt)=>{let St=s("td",{},ht);return et.length&&ct(St,et[mt]),St}));X.replaceChildren(dt("spread of the scores",[Wt(V).toFixed(4),Wt(gt).toFixed(4)]),...Ve.map(([P,J,et])=>{let ht=[D[J],be(ft.map(mt=>mt[J]))];return dt(P,ht.map(Tt),ht.map(mt=>mt/et))}),dt(`largest entry < ${Lt}`,[D.largest<Lt?"yes":"no",`${Q} of ${bt}`]));let rt=D.weights.indexOf(Math.max(...D.weights)),H=D.largest<Lt?"saturated, next to no gradient passes":D.share>.99?"nearly uniform":"open, a gradient passes";r(`Key ${c[rt]} has weight ${T(D.weights[rt])}; entropy is ${T(100*D.share,0)} % of ln ${c.length}; the largest slope is ${Tt(D.largest)}: ${H}. Of ${bt} sampled rows, ${Q} are saturated.`)}function v(){let{T:c,d_k:m,scaled:y}=u();return`import torch

scores = torch.tensor(${JSON.stringify(A())}, dtype=torch.float64)  # q·k / sqrt(d_k), of ${JSON.stringify(t.get("names"))}
z = scores${y?"":` * ${m} ** 0.5  # not scaled`}
z = z / ${c}  # the temperature
weights = z.softmax(-1)
jacobian = torch.autograd.functional.jacobian(lambda z: z.softmax(-1), z)
print("weights", weights.tolist())
print("entropy", torch.special.entr(weights).sum().item(), "largest", jacobian.max().item(), "norm", jacobian.norm().item())
`}return{update:N,pytorch:v,svg:()=>wt(z)}}});var ke=["n't","'s","'m","'re","'ve","'ll","'d"],ve=new Set(`mr. mrs. ms. dr. prof. st. jr. sr. vs. etc. inc. co. corp. ltd. gen. rep. sen. gov. lt. col. no. ph.d. fig.
al. jan. feb. mar. apr. jun. jul. aug. sep. sept. oct. nov. dec. ave. blvd. rd. approx. dept. est.`.split(/\s+/)),Qe=/^(?:(?:[A-Za-z][A-Za-z0-9+.-]*:\/\/|[Ww][Ww][Ww]\.)[^ ]|[^@]+@[^@.]+\.[^@])/u,He=/^(?:[A-Za-z]\.)+[A-Za-z]?\.?$/,Pe=t=>/^[\p{Z}\p{Cc}]$/u.test(t),At=t=>/^[\p{L}\p{M}\p{N}_]$/u.test(t),Dt=t=>/^\p{N}$/u.test(t),Je=t=>/^[\p{M}\p{Cf}\p{Sk}]$/u.test(t)&&t.codePointAt(0)>127,Ge=t=>t.replaceAll("’","'").toLowerCase();function Xt(t){let e=Array.from(t,n=>/^[\ud800-\udfff]$/.test(n)?"�":n),r=[],a="";for(let n of[...e," "])Pe(n)?a&&(r.push(...Ye(a)),a=""):a+=n;return r}function Ae(t){let e=Array.from(t.toLowerCase()),r="",a="",n=0;for(let o of t){let d=Ze(o);n=d===a?n+1:1,a=d,n<=2&&(r+=d)}return[`w=${e.join("")}`,...[1,2,3].map(o=>`p${o}=${e.slice(0,o).join("")}`),...[1,2,3,4].map(o=>`s${o}=${e.slice(-o).join("")}`),`shape=${Array.from(r).slice(0,8).join("")}`]}function Se(t,e,r){let a=(2166136261^e)>>>0;for(let n of new TextEncoder().encode(t))a=Math.imul(a^n,16777619)>>>0;return a%r}function Ze(t){return/^[\p{Lu}\p{Lt}]$/u.test(t)?"X":/^\p{L}$/u.test(t)?"x":Dt(t)?"d":t}function Ye(t){let[e,...r]=ta(t),[a,n]=r,o=a+n;return ve.has(o.toLowerCase())||He.test(o)&&o.slice(0,-1).includes(".")?[a,n]=[o,""]:n.startsWith(".")&&ve.has(`${a}.`.toLowerCase())&&([a,n]=[`${a}.`,n.slice(1)]),[...$e(e),...Qe.test(a)?[a]:ea(a),...$e(n)]}function ta(t){if(ke.includes(Ge(t)))return["",t,""];let e=Array.from(t),r=e.findIndex(At);if(r<0)return[t,"",""];let a=e.findLastIndex(At)+1;return[e.slice(0,r),e.slice(r,a),e.slice(a)].map(n=>n.join(""))}function $e(t){let e=[];for(let r of t){let a=e.length?Array.from(e[e.length-1]).at(-1):"";a&&(r===a||Je(r)||a==="‍")?e[e.length-1]+=r:e.push(r)}return e}function ea(t){if(!t)return[];let e=Array.from(t),r=[],a=0;for(let o=1;o<e.length-1;o++)!At(e[o])&&!aa(e,o)&&(r.push(e.slice(a,o).join(""),e[o]),a=o+1);r.push(e.slice(a).join(""));let n=[];for(let o of r.filter(Boolean)){let d=Array.from(o),l=n.length?Array.from(n[n.length-1]).at(-1):"";d.length===1&&!At(o)&&o===l?n[n.length-1]+=o:n.push(...ra(o))}return n}function aa(t,e){let[r,a,n]=[t[e-1],t[e],t[e+1]];return!At(r)||!At(n)?!1:".,:".includes(a)?Dt(r)&&Dt(n)||a===".":"'’&".includes(a)}function ra(t){let e=Array.from(t),r=Array.from(t.toLowerCase().replaceAll("’","'"));if(r.length!==e.length)return[t];let a=r.join("");if(a==="cannot")return[t.slice(0,3),t.slice(3)];for(let n of ke)if(a.endsWith(n)&&r.length>n.length){let o=e.length-n.length;return[e.slice(0,o).join(""),e.slice(o).join("")]}return[t]}function Bt(t){let e=new DataView(t.buffer,t.byteOffset,t.byteLength),r=Number(e.getBigUint64(0,!0)),a=JSON.parse(new TextDecoder().decode(t.subarray(8,8+r))),n={};for(let[d,{dtype:l,shape:h,data_offsets:w}]of Object.entries(a)){if(d==="__metadata__")continue;let[S,O]=w.map(L=>L+8+r),F=new Uint8Array(t.subarray(S,O)),U=l==="F32"?new Float32Array(F.buffer):l==="I8"?new Int8Array(F.buffer):F;n[d]={shape:h,dtype:l,data:Float64Array.from(U)}}let o={};for(let[d,l]of Object.entries(n))if(!d.endsWith(".scale"))if(!d.endsWith(".q"))o[d]=l;else{let h=d.slice(0,-2),w=n[`${h}.scale`].data;o[h]=l.dtype==="U8"?na(l,w):oa(l,w)}return{card:JSON.parse(a.__metadata__.card),tensors:o}}function na({shape:[t,e],data:r},a){let n=2*e,o=new Float64Array(t*n);for(let d=0;d<t;d++)for(let l=0;l<e;l++){let h=r[d*e+l];o[d*n+l]=Math.fround(((h&15)-8)*a[l]),o[d*n+e+l]=Math.fround(((h>>4)-8)*a[e+l])}return{shape:[t,n],data:o}}function oa({shape:t,data:e},r){return{shape:t,data:e.map((a,n)=>Math.fround(a*r[Math.floor(n/t[1])]))}}function qe({card:t,tensors:e},r){let{n_buckets:a,d_model:n,n_heads:o,n_layers:d,seeds:l}=t.form,h=e["table.weight"].data,w=r.map(j=>{let z=new Array(n).fill(0);for(let B of Ae(j))for(let X of l){let K=Se(B,X,a)*n;for(let C=0;C<n;C++)z[C]+=h[K+C]}return z}),S=(j,z)=>{let{shape:B,data:X}=e[`${z}.weight`],K=Array.from(e[`${z}.bias`].data);for(let C=0;C<B[0];C++)for(let R=0;R<B[1];R++)K[C]+=X[C*B[1]+R]*j[R];return K},O=(j,z)=>Ht(j,e[`${z}.weight`].data,e[`${z}.bias`].data),F=[];for(let j=0;j<d;j++){let z=`layers.${j}`,B=w.map(x=>O(x,`${z}.norm`)),[X,K,C]=["q","k","v"].map(x=>B.map(_=>S(_,`${z}.attention.${x}_proj`))),R=X.length?X[0].length/o:0,q=[],g=r.map(()=>[]);for(let x=0;x<o;x++){let _=A=>A.slice(x*R,(x+1)*R),p=[X,K].map(A=>A.map((E,$)=>Pt(_(E),$))),k=p[0].map(A=>ot(p[1].map(E=>A.reduce(($,i,u)=>$+i*E[u],0)/Math.sqrt(R))));q.push(k),k.forEach((A,E)=>{for(let $=0;$<R;$++)g[E].push(A.reduce((i,u,b)=>i+u*C[b][x*R+$],0))})}F.push(q),w=w.map((x,_)=>Me(x,S(g[_],`${z}.attention.out_proj`))),w=w.map(x=>{let _=S(O(x,`${z}.norm2`),`${z}.up`).map(p=>Math.max(p,0));return Me(x,S(_,`${z}.down`))})}let U=w.map(j=>ot(S(O(j,"norm"),"out"))),L=U.map(j=>t.tags[j.indexOf(Math.max(...j))]);return{tokens:r,tags:L,probabilities:U,weights:F}}var Me=(t,e)=>t.map((r,a)=>r+e[a]);var It=128,_e=["I saw a saw","What do you do?","There were many hotels there.","Can you open the can?"];function Kt(t,e){let r=t.flat(),[a,n]=e.split(".").map(Number),o=t[a-1]?.[n-1];if(o)return o;let d=r[0]?.length??0;return Array.from({length:d},(l,h)=>Array.from({length:d},(w,S)=>r.reduce((O,F)=>O+F[h][S],0)/r.length))}async function sa(t,e){let r=t.get("model");if(r?.byteLength)return Bt(new Uint8Array(r.buffer??r,r.byteOffset??0,r.byteLength));let a=()=>globalThis.attnlabModels?.tagger;return a()||await new Promise((n,o)=>{let d=document.createElement("script");d.src=new URL("models/tagger-model.js",e??document.baseURI).href,d.onload=n,d.onerror=()=>o(new Error("its weights (models/tagger-model.js) did not load. Reload the page.")),document.head.append(d)}),Bt(Uint8Array.from(atob(a()),n=>n.charCodeAt(0)))}var Ee=nt({name:"tag",title:"Tag a sentence",keys:["sentence","word","head"],async setup({model:t,body:e,say:r,set:a,signal:n,place:o}){let d=await sa(t,o.base),{card:l}=d,h,w="",S=0,O=s("input",{type:"text","aria-label":"A sentence to tag","data-part":"sentence",autocomplete:"off",spellcheck:"false",dir:"auto",on:{input:()=>a({sentence:O.value,word:-1})}}),F=s("div",{class:"attnlab-row attnlab-examples"},s("span",{class:"attnlab-label"},"Try"));for(let p of _e){let k=()=>a({sentence:p,word:p===_e[0]?3:-1});F.append(s("button",{type:"button","data-part":"example",on:{click:k}},p))}let U=at({label:"Which attention head",part:"heads",value:t.get("head"),options:[{value:"mean",text:"all heads"},...Array.from({length:l.form.n_layers*l.form.n_heads},(p,k)=>{let[A,E]=[Math.floor(k/l.form.n_heads)+1,k%l.form.n_heads+1],$=l.form.n_layers>1?`${A}.${E}`:String(E);return{value:`${A}.${E}`,text:$}})],onChange:p=>a({head:p})}),L=s("div",{class:"attnlab-tokens",role:"radiogroup","aria-label":"The words, each with its tag",on:{keydown:C}}),j=s("p",{"data-part":"alternatives"}),z=s("tbody"),B=s("table",{"data-part":"numbers"},s("caption",{},"Every number"),s("thead",{},s("tr",{},...["word","tag","probability","weight"].map(p=>s("th",{scope:"col"},p)))),z),X=l.form.n_layers>1?" (layer.head; layers look one after the other)":"";e.append(O,F,s("div",{class:"attnlab-row"},s("span",{class:"attnlab-label"},`Attention of${X}`),U),L,j,s("details",{},s("summary",{},"The numbers as a table"),s("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Table of numbers"},B)),s("p",{class:"attnlab-note","data-part":"card"},`Trained on ${l.data} (${l.licence}); ${l.accuracy.test} % of its test words come out right. It knows no more English than that.`));let K=new ResizeObserver(()=>_());K.observe(L),n.addEventListener("abort",()=>K.disconnect());function C(p){let k={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[p.key],A=h.tokens.length;!k||!A||(p.preventDefault(),a({word:(Math.max(t.get("word"),0)+k+A)%A}),L.querySelector('[tabindex="0"]')?.focus())}function R(){let p=String(t.get("sentence")??"");if(h&&p===w)return;w=p;let k=Xt(p);S=Math.max(k.length-It,0),h=qe(d,k.slice(0,It))}let q=()=>{let p=Number(t.get("word")??-1);return p>=0&&p<h.tokens.length?p:-1};function g(){R(),O.value!==w&&(O.value=w),G(U,t.get("head"));let p=q(),k=p<0?[]:Kt(h.weights,t.get("head"))[p],A=L.contains(document.activeElement);L.replaceChildren(...h.tokens.map((E,$)=>{let i=Math.max(...h.probabilities[$]),u=s("button",{type:"button",class:"attnlab-token",role:"radio","aria-checked":$===p?"true":"false",tabindex:$===Math.max(p,0)?0:-1,"data-part":"token",on:{click:()=>a({word:$})}},s("b",{dir:"auto"},E),s("span",{},h.tags[$]),s("i",{},p<0?`${T(100*i,0)} %`:`gives ${T(100*k[$],0)} %`));return p>=0&&ct(u,k[$]),u})),A&&L.querySelector('[tabindex="0"]')?.focus(),z.replaceChildren(...h.tokens.map((E,$)=>s("tr",{},s("th",{scope:"row",dir:"auto"},E),s("td",{},h.tags[$]),s("td",{},Math.max(...h.probabilities[$]).toFixed(4)),s("td",{},p<0?"–":k[$].toFixed(4))))),x(p,k),_()}function x(p,k){if(!h.tokens.length){j.textContent="",r("Type a sentence: there is nothing to tag yet.");return}let A=S?` Only the first ${It} of ${It+S} words are shown.`:"";if(p<0){j.textContent="Pick a word to see where the tagger looked.",r(h.tokens.map((u,b)=>`${u} ${h.tags[b]}`).join(", ")+"."+A);return}let E=h.probabilities[p].map((u,b)=>({p:u,tag:l.tags[b]})).sort((u,b)=>b.p-u.p).slice(0,3);j.textContent=E.map(({p:u,tag:b})=>`${b} ${T(100*u,1)} %`).join(" · ");let $=k.indexOf(Math.max(...k)),i=$===p?"itself":`“${h.tokens[$]}” (word ${$+1})`;r(`“${h.tokens[p]}” (word ${p+1}) is ${h.tags[p]}. It takes most from ${i}: ${T(100*k[$],0)} %.${A}`)}function _(){L.querySelector("svg")?.remove();let p=q(),k=[...L.querySelectorAll(".attnlab-token")],A=k.length>1&&k.every(b=>b.offsetTop===k[0].offsetTop),E=p>=0&&A&&L.clientWidth>480;if(L.classList.toggle("has-arcs",E),!E)return;let $=Kt(h.weights,t.get("head"))[p],i=I("svg",{class:"attnlab-arcs","aria-hidden":"true","data-part":"arcs"}),u=k.map(b=>b.offsetLeft+b.offsetWidth/2);k.forEach((b,M)=>{if($[M]<.02)return;let[N,v]=[u[p],u[M]],c=M===p?26:Math.min(24+Math.abs(v-N)*.16,76),m=M===p?`M ${N-9} 82 C ${N-22} ${82-c*1.4}, ${N+22} ${82-c*1.4}, ${N+9} 82`:`M ${N} 82 C ${N} ${82-c}, ${v} ${82-c}, ${v} 82`;i.append(I("path",{d:m,fill:"none",stroke:"var(--fig-query)","stroke-width":(1+9*$[M]).toFixed(2),"stroke-opacity":(.25+.7*$[M]).toFixed(2),"stroke-linecap":"round"}))}),L.prepend(i)}return{update:g,pytorch:()=>ia(w,q(),t.get("head")),svg:()=>ca(h,q(),t.get("head"))}}});function ia(t,e,r){let[a,n]=r.split(".").map(Number),o=r==="mean"?"tagged.weights.mean((0, 1))":`tagged.weights[${a-1}, ${n-1}]`,d=e<0?"":`weights = ${o}[${e}]  # how much word ${e} takes of each word
`;return`from attnlab.tagging import shipped

tagged = shipped.load().tag(${JSON.stringify(t)})
${d}for i, (token, tag) in enumerate(zip(tagged.tokens, tagged.tags)):
    print(token, tag, round(tagged.probabilities[i].max().item(), 4)${e<0?"":", round(weights[i].item(), 4)"})
`}function ca(t,e,r){let a=e<0?[]:Kt(t.weights,r)[e],n=110,o=t.tokens.map((l,h)=>{let w=10+h*n,S=a[h]??0;return`<rect x="${w}" y="10" width="${n-8}" height="76" rx="8" fill="#0069a8" fill-opacity="${(.52*S).toFixed(3)}" stroke="${h===e?"#0069a8":"#d5dae0"}" stroke-width="2"/><text x="${w+51}" y="36" font-size="18">${Mt(l)}</text><text x="${w+51}" y="57" font-size="13">${t.tags[h]}</text><text x="${w+51}" y="76" font-size="13">${e<0?"":`${T(100*S,0)} %`}</text>`}),d=12+t.tokens.length*n;return`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${d} 96" width="${d}" height="96" font-family="sans-serif" fill="#1b1f24" text-anchor="middle">${o.join("")}</svg>`}var la=Object.fromEntries([Zt,oe,fe,xe,Ee].map(t=>[t.name,t])),ua=document.currentScript,da=new URL(".",ua?.src||document.baseURI).href;function ha(t){let e=t.dataset.attnlab??"",r=la[e];if(!r||t.dataset.mounted)return;t.dataset.mounted="true";let a=[...document.querySelectorAll(`figure[data-attnlab="${e}"]`)].indexOf(t),n=a?`${e}-${a+1}`:e;t.id||=`figure-${n}`;let o=JSON.parse(t.dataset.settings??"{}"),d=new URLSearchParams(location.search).get(n);d&&Object.assign(o,pa(d,r.keys));let l=t.querySelector("figcaption"),h=document.createElement("div");t.replaceChildren(h,...l?[l]:[]);let w=S=>{let O=new URL(location.href);return O.searchParams.set(n,JSON.stringify(S)),O.hash=t.id,O.href};r.render({model:fa(o),el:h,place:{base:da,link:w}})}function pa(t,e){try{let r=JSON.parse(t);return Object.fromEntries(Object.entries(r).filter(([a])=>e.includes(a)))}catch{return{}}}function fa(t){return{get:e=>t[e],set:(e,r)=>{t[e]=r},save_changes(){},on(){}}}var Ce=()=>document.querySelectorAll("figure[data-attnlab]").forEach(t=>ha(t));document.readyState==="loading"?document.addEventListener("DOMContentLoaded",Ce):Ce();})();
