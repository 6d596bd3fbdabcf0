"use strict";(()=>{function c(t,e={},...r){let a=document.createElement(t);for(let[n,i]of Object.entries(e))if(n==="on")for(let[g,f]of Object.entries(i))a.addEventListener(g,f);else i===!0?a.setAttribute(n,""):i!=null&&i!==!1&&a.setAttribute(n,String(i));return a.append(...r.filter(n=>n!=null)),a}function C(t,e={},...r){let a=document.createElementNS("http://www.w3.org/2000/svg",t);for(let[n,i]of Object.entries(e))a.setAttribute(n,String(i));return a.append(...r),a}function A(t,e=2){if(t===-1/0)return"−∞";if(Math.abs(t)>=1e5)return t.toExponential(1).replace("-","−");let r=t.toFixed(e);return Number(r)===0?r.replace("-",""):r.replace("-","−")}function ut({label:t,options:e,value:r,part:a,onChange:n}){let i=e.map(f=>c("button",{type:"button",role:"radio","aria-checked":f.value===r?"true":"false",tabindex:f.value===r?0:-1,"data-value":f.value,on:{click:()=>n(f.value)}},f.text)),g=c("div",{class:"attnlab-choices",role:"radiogroup","aria-label":t,"data-part":a});return g.append(...i),g.addEventListener("keydown",f=>{let m={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[f.key],v=i.findIndex(j=>j===f.target);if(!m||v<0)return;f.preventDefault();let O=i[(v+m+i.length)%i.length];st(g,O.dataset.value),O.focus(),n(O.dataset.value)}),g}function st(t,e){for(let r of t.querySelectorAll("button")){let a=r.dataset.value===e;r.setAttribute("aria-checked",String(a)),r.tabIndex=a?0:-1}}function qt(t,e,r="query"){let a=Math.round(52*Math.min(Math.max(e,0),1)*10)/10;t.style.backgroundColor=`color-mix(in srgb, var(--fig-${r}) ${a}%, transparent)`}var $t=t=>t.replace(/[&<>"]/g,e=>`&#${e.charCodeAt(0)};`),ve={query:"#0069a8",key:"#b04a00",value:"#00795a",output:"#a0307a",ink:"#1b1f24",line:"#d5dae0"};function St(t){let e=t.cloneNode(!0);return e.setAttribute("xmlns","http://www.w3.org/2000/svg"),Object.entries(ve).reduce((r,[a,n])=>r.replaceAll(`var(--fig-${a})`,n),e.outerHTML)}function Et(t,e,r){t.addEventListener("pointerdown",a=>{let n=new AbortController;t.setPointerCapture(a.pointerId),t.addEventListener("pointermove",i=>r(i),{signal:AbortSignal.any([e,n.signal])});for(let i of["pointerup","pointercancel"])t.addEventListener(i,()=>n.abort(),{once:!0})},{signal:e})}var Ut=`/* The figures carry their own colours: in Lab and Colab there is no book theme around them. */
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
`;function dt(t){return{name:t.name,keys:t.keys,async render({model:e,el:r,signal:a,place:n={}}){let i=new AbortController;a?.addEventListener("abort",()=>i.abort()),ke(r);let g=Object.fromEntries(t.keys.map(q=>[q,structuredClone(e.get(q))])),f=c("div",{class:"attnlab-body"}),m=c("p",{class:"attnlab-status",role:"status","data-part":"status"}),v=c("p",{class:"attnlab-error",role:"alert","data-part":"error",hidden:!0}),O=c("div",{class:"attnlab-bar",role:"group","aria-label":`${t.title}: actions`}),j=c("div",{class:"attnlab-root","data-lm-suppress-shortcuts":"true","data-figure":t.name},f,v,m,O);r.replaceChildren(j);let B,Q=q=>{try{q(),v.hidden=!0}catch(I){console.warn("attnlab figure:",I),v.textContent=`This figure could not be drawn: ${I instanceof Error?I.message:I}`,v.hidden=!1}},R=()=>Q(()=>B?.update()),N=q=>{for(let[I,J]of Object.entries(q))e.set(I,J);e.save_changes(),R()},U=q=>{m.textContent!==q&&(m.textContent=q)};try{B=await t.setup({model:e,body:f,say:U,set:N,signal:i.signal,place:n})}catch(q){return Q(()=>{throw q}),()=>i.abort()}let H=()=>Object.fromEntries(t.keys.map(q=>[q,e.get(q)]));O.append(P("Reset","reset",()=>(N(structuredClone(g)),"Reset.")),n.link?P("Copy link","link",()=>V(n.link(H()))):"",P("Copy as PyTorch","pytorch",()=>V(B.pytorch())),P("Save SVG","svg",()=>$e(B.svg(),`attnlab-${t.name}.svg`))),R();for(let q of t.keys)e.on(`change:${q}`,R),i.signal.addEventListener("abort",()=>e.off?.(`change:${q}`,R));return()=>i.abort();function P(q,I,J){let $=c("button",{type:"button","data-part":I},q);return $.addEventListener("click",async()=>{try{U(await J())}catch(T){U(`That did not work: ${T instanceof Error?T.message:T}`)}}),$}async function V(q){j.querySelector(".attnlab-copied")?.remove();try{return await navigator.clipboard.writeText(q),"Copied."}catch{let I=c("textarea",{class:"attnlab-copied",readonly:!0,rows:Math.min(q.split(`
`).length,12),"aria-label":"Text to copy","data-part":"copied"});return I.value=q,O.after(I),I.focus(),I.select(),"The text is selected below: copy it with your keyboard."}}}}}function $e(t,e){let r=URL.createObjectURL(new Blob([t],{type:"image/svg+xml"}));return c("a",{href:r,download:e}).click(),setTimeout(()=>URL.revokeObjectURL(r),1e4),`Saved ${e}.`}function ke(t){t.classList.add("attnlab-figure");let e=t.getRootNode(),r=e instanceof Document?e.head:e instanceof ShadowRoot?e:t;if(r.querySelector?.("style[data-attnlab]"))return;let a=c("style",{"data-attnlab":!0});a.textContent=Ut,r.append(a)}var bt=(t,e)=>t.map(r=>e[0].map((a,n)=>r.reduce((i,g,f)=>i+g*e[f][n],0))),Ae=t=>t[0].map((e,r)=>t.map(a=>a[r]));function ft(t){let e=Math.max(...t);if(e===-1/0)return t.map(()=>0);let r=t.map(n=>Math.exp(n-e)),a=r.reduce((n,i)=>n+i,0);return r.map(n=>n/a)}function Xt({x:t,wq:e,wk:r,wv:a,scale:n=null,causal:i=!1}){let[g,f,m]=[e,r,a].map(Q=>bt(t,Q)),v=bt(g,Ae(f)),O=n??1/Math.sqrt(g[0].length),j=v.map((Q,R)=>Q.map((N,U)=>i&&U>R?-1/0:N*O)),B=j.map(ft);return{q:g,k:f,v:m,scores:v,factor:O,scaled:j,weights:B,output:bt(B,m)}}function Bt(t,e,r){let a=t.length,n=0;for(let f=0;f<a;f++)n+=t[f]/a;let i=0;for(let f=0;f<a;f++)i+=(t[f]-n)**2/a;let g=Math.sqrt(i+1e-5);return Array.from({length:a},(f,m)=>(t[m]-n)/g*e[m]+r[m])}function Ot(t,e,r=1e4){let a=t.slice();for(let n=0;n<t.length;n+=2){let i=e*r**(-n/t.length),[g,f]=[Math.cos(i),Math.sin(i)];a[n]=t[n]*g-t[n+1]*f,a[n+1]=t[n]*f+t[n+1]*g}return a}var Me=["Input","Q, K, V","Scores","Scaled","Weights","Output"],qe=["one row of numbers for each token.","three views of every token: what it looks for, offers and passes on.","every query against every key.","the scores, made smaller so that their spread does not grow with the width.","each row becomes shares that sum to one.","each row is a weighted mean of the values."],kt={X:"X",Wq:"W_q",Wk:"W_k",Wv:"W_v"},Se=["X","Q","S","scaled","A","O"],Ee={X:"X",Wq:"W_q",Wk:"W_k",Wv:"W_v",Q:"Q = X W_q",K:"K = X W_k",V:"V = X W_v",S:"scores = Q Kᵀ",scaled:"scaled scores",A:"weights",O:"output = weights · V"},Dt={Wq:"query",Q:"query",Wk:"key",K:"key",Wv:"value",V:"value",O:"output"},Tt=1e6,Vt=dt({name:"calculator",title:"Attention calculator",keys:["X","W_q","W_k","W_v","tokens","stage","focus","scale","causal"],setup({model:t,body:e,say:r,set:a}){let n=[],i,g="",f=l=>a({stage:Math.min(Math.max(l,1),6),focus:[0,0]}),m=ut({label:"Stage",part:"stages",value:String(t.get("stage")),options:Me.map((l,o)=>({value:String(o+1),text:`${o+1} ${l}`})),onChange:l=>f(Number(l))}),v=c("button",{type:"button","data-part":"previous",on:{click:()=>f(t.get("stage")-1)}},"← Back"),O=c("button",{type:"button","data-part":"next",on:{click:()=>f(t.get("stage")+1)}},"Next →"),j=c("button",{type:"button","data-part":"undo",on:{click:U}},"Undo"),B=c("input",{type:"checkbox","data-part":"causal",on:{change:()=>H({causal:B.checked})}}),Q=c("p",{class:"attnlab-formula","data-part":"formula","aria-live":"polite"}),R=c("div",{class:"attnlab-mats"}),N=c("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Weights and output"});e.append(m,c("div",{class:"attnlab-row"},v,O,j,c("label",{style:"display: inline-flex; gap: .4rem; align-items: center; min-height: 32px"},B,"hide later tokens")),R,Q,c("details",{open:!0},c("summary",{},"Weights and output as a table"),N));function U(){let l=n.pop();l?a(l):r("There is nothing to undo.")}function H(l){n.push(Object.fromEntries(Object.keys(l).map(o=>[o,structuredClone(t.get(o))]))),a(l)}function P(){let[l,o,s,u]=Object.values(kt).map(h=>Oe(h,t.get(h)));for(let[h,p]of[["W_q",o],["W_k",s],["W_v",u]])if(p.length!==l[0].length)throw new Error(`${h} must have as many rows as X has columns (${l[0].length}), it has ${p.length}.`);if(o[0].length!==s[0].length)throw new Error(`W_q and W_k must have as many columns as each other, they have ${o[0].length} and ${s[0].length}.`);return i=Xt({x:l,wq:o,wk:s,wv:u,scale:t.get("scale"),causal:!!t.get("causal")}),{X:l,Wq:o,Wk:s,Wv:u,Q:i.q,K:i.k,V:i.v,S:i.scores,scaled:i.scaled,A:i.weights,O:i.output}}function V(){let l=P(),o=Number(t.get("stage")),s=t.get("tokens");if(s.length!==l.X.length)throw new Error(`tokens must name the ${l.X.length} rows of X, it names ${s.length}.`);st(m,String(o)),v.disabled=o<=1,O.disabled=o>=6,B.checked=!!t.get("causal");let u=[["X"],["X","Wq","Wk","Wv","Q","K","V"],["Q","K","S"],["S","scaled"],["scaled","A"],["A","V","O"]][o-1],h=Se[o-1],p=q(l,h),d=JSON.stringify([o,s,u.map(x=>[l[x].length,l[x][0].length])]);d!==g&&(g=d,R.replaceChildren(...u.map(x=>I(x,l[x],s))));let y=k(p);for(let x of u)X(x,l[x],p,y);let w=M(l,p,s);Q.textContent=w,b(l,s),r(`Stage ${o} of 6: ${qe[o-1]}`)}function q(l,o){let s=t.get("focus"),u=s.length>2&&l[s[2]]?s[2]:o;return{name:u,row:Math.min(Number(s[0])||0,l[u].length-1),column:Math.min(Number(s[1])||0,l[u][0].length-1)}}function I(l,o,s){let u=!l.startsWith("W"),h=["S","scaled","A"].includes(l),p=o.map((y,w)=>c("tr",{},c("th",{scope:"row"},u?s[w]:String(w+1)),...y.map((x,E)=>{let L={"data-row":w,"data-column":E,"aria-label":`${l} row ${w+1} column ${E+1}`},F=l in kt?J(l,w,E,L):$(l,w,E,L);return c("td",{class:"attnlab-cell"},F)}))),d=o[0].map((y,w)=>c("th",{scope:"col"},h?s[w]:String(w+1)));return c("div",{class:"attnlab-scroll"},c("table",{"data-part":`matrix-${l}`,on:{keydown:T}},c("caption",{class:Dt[l]?`is-${Dt[l]}`:""},Ee[l]+(l==="scaled"?` = scores × ${A(i.factor,3)}`:"")),c("thead",{},c("tr",{},c("td",{style:"border: 0"}),...d)),c("tbody",{},...p)))}function J(l,o,s,u){let h=c("input",{...u,type:"text",inputmode:"decimal"}),p=kt[l];return h.addEventListener("focus",()=>a({focus:[o,s,l]})),h.addEventListener("change",()=>{let d=Pt(h.value);if(h.setAttribute("aria-invalid",String(d===null)),d===null){r(`“${h.value}” is not a number from −${Tt} to ${Tt}. ${p} row ${o+1}, column ${s+1} stays ${A(t.get(p)[o][s])}.`);return}let y=structuredClone(t.get(p));y[o][s]=d,H({[p]:y})}),h}function $(l,o,s,u){return c("button",{...u,type:"button",on:{click:()=>a({focus:[o,s,l]})}})}function T(l){let o=l.target,s={ArrowRight:[0,1],ArrowLeft:[0,-1],ArrowDown:[1,0],ArrowUp:[-1,0]}[l.key];if(l.key==="Enter"&&o.dispatchEvent(new Event("change")),!s||o instanceof HTMLInputElement&&s[1]&&o.selectionStart!==o.selectionEnd)return;let u=o.closest("table")?.querySelector(`[data-row="${Number(o.dataset.row)+s[0]}"][data-column="${Number(o.dataset.column)+s[1]}"]`);u instanceof HTMLElement&&(l.preventDefault(),u.focus(),u instanceof HTMLButtonElement&&u.click())}function X(l,o,s,u){for(let h of R.querySelectorAll(`[data-part="matrix-${l}"] [data-row]`)){let p=h,[d,y]=[Number(p.dataset.row),Number(p.dataset.column)],w=o[d][y];p.tagName!=="INPUT"?(p.textContent=A(w,l==="A"?3:2),p.setAttribute("aria-label",`${p.textContent}, ${l} row ${d+1} column ${y+1}`)):(document.activeElement!==p||Pt(p.value)!==null)&&(p.value=String(w));let x=p.parentElement;x.classList.toggle("is-focus",s.name===l&&s.row===d&&s.column===y),x.classList.toggle("is-source",u(l,d,y)),l==="A"&&qt(x,w)}}function b(l,o){let s=["token",...o.map(u=>`takes of ${u}`),...l.O[0].map((u,h)=>`output ${h+1}`)];N.replaceChildren(c("table",{"data-part":"numbers"},c("thead",{},c("tr",{},...s.map(u=>c("th",{scope:"col"},u)))),c("tbody",{},...o.map((u,h)=>c("tr",{},c("th",{scope:"row"},u),...[...l.A[h],...l.O[h]].map(p=>c("td",{},p.toFixed(4))))))))}function k({name:l,row:o,column:s}){let u={Q:["X","Wq"],K:["X","Wk"],V:["X","Wv"],S:["Q","K"],scaled:["S"],A:["scaled"],O:["A","V"]},[h,p]=u[l]??[];return(d,y,w)=>l==="scaled"?d==="S"&&y===o&&w===s:l==="S"?d==="Q"&&y===o||d==="K"&&y===s:d===h?y===o:d===p&&w===s}function M(l,{name:o,row:s,column:u},h){let p=l[o][s][u],d=(x,E)=>x.map((L,F)=>`${A(L)} × ${L===x[F]&&E[F]<0?`(${A(E[F])})`:A(E[F])}`).join(" + "),y=(x,E)=>x.map(L=>L[E]),w=`[${s+1}, ${u+1}]`;if(o in kt){let x=o==="X"?`the vector of “${h[s]}”`:`what input ${s+1} adds to entry ${u+1}`;return`${kt[o]}${w} = ${A(p)}: ${x}. Type to change it.`}if(o==="Q"||o==="K"||o==="V")return`${o}${w} = ${d(l.X[s],y(l[`W${o.toLowerCase()}`],u))} = ${A(p)}`;if(o==="S")return`score${w}: query of “${h[s]}” · key of “${h[u]}” = ${d(l.Q[s],l.K[u])} = ${A(p)}`;if(o==="scaled"){if(p===-1/0)return`scaled${w} = −∞: “${h[u]}” comes later and is hidden.`;let x=t.get("scale")===null||t.get("scale")===void 0?`/ √${l.Q[0].length}`:`× ${A(i.factor,3)}`;return`scaled${w} = ${A(l.S[s][u])} ${x} = ${A(p)}`}if(o==="A"){let x=l.scaled[s].map(E=>E===-1/0?"0":`e^${A(E)}`);return`weight${w} = ${x[u]} / (${x.join(" + ")}) = ${A(p,3)}: “${h[s]}” takes ${A(100*p,1)} % of “${h[u]}”`}return`output${w} = ${d(l.A[s],y(l.V,u))} = ${A(p)}`}function W(){let l=s=>`torch.tensor(${JSON.stringify(t.get(s))}, dtype=torch.float64)`,o=t.get("scale");return`import torch

from attnlab import attention

x = ${l("X")}  # one row a token: ${t.get("tokens").join(", ")}
w_q = ${l("W_q")}
w_k = ${l("W_k")}
w_v = ${l("W_v")}
output, weights = attention(
    x @ w_q, x @ w_k, x @ w_v, scale=${o??"None"}, is_causal=${t.get("causal")?"True":"False"}, need_weights=True
)
print(weights)
print(output)
`}function S(){let{A:l}=P(),o=t.get("tokens"),s=l.flatMap((y,w)=>y.map((x,E)=>`<rect x="${80+E*64}" y="${36+w*40}" width="64" height="40" fill="#0069a8" fill-opacity="${(.52*x).toFixed(3)}" stroke="#d5dae0"/><text x="${112+E*64}" y="${61+w*40}">${A(x,3)}</text>`)),u=o.map((y,w)=>`<text x="40" y="${61+w*40}">${$t(y)}</text>`),h=o.map((y,w)=>`<text x="${112+w*64}" y="26">${$t(y)}</text>`),[p,d]=[90+64*o.length,46+40*o.length];return`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${p} ${d}" width="${p}" height="${d}" font-family="sans-serif" font-size="15" fill="#1b1f24" text-anchor="middle">${[...s,...u,...h].join("")}</svg>`}return{update:V,pytorch:W,svg:S}}});function Pt(t){let e=t.trim().replace("−","-").replace(",","."),r=e===""?NaN:Number(e);return Number.isFinite(r)&&Math.abs(r)<=Tt?r:null}function Oe(t,e){if(!(Array.isArray(e)&&e.length>0&&e.every(a=>Array.isArray(a)&&a.length>0&&a.length===e[0].length&&a.every(Number.isFinite))))throw new Error(`${t} must be rows of numbers, all of one length.`);return e}var Qt=(t,e,r)=>e.map(([a,n])=>r==="dot"?t[0]*a+t[1]*n:-((t[0]-a)**2+(t[1]-n)**2)/2);function Ht(t,e,r){let a=t.map(n=>n/r);if(e==="softmax")return ft(a);if(e==="sparsemax")return Le(a);if(e==="relu")return a.map(n=>Math.max(n,0)/a.length);if(e==="none")return a;throw new Error(`weights must be softmax, sparsemax, relu or none, got “${e}”.`)}function Le(t){let e=t.slice().sort((n,i)=>i-n),[r,a]=[0,0];return e.forEach((n,i)=>{r+=n,1+(i+1)*n>r&&(a=(r-1)/(i+1))}),t.map(n=>Math.max(n-a,0))}var Kt=(t,e)=>{let r=a=>t.reduce((n,i,g)=>n+i*e[g][a],0);return[r(0),r(1)]};function Jt(t){let e=t.slice().sort((a,n)=>a[0]-n[0]||a[1]-n[1]),r=a=>{let n=[];for(let i of a){for(;n.length>1&&Gt(n[n.length-2],n[n.length-1],i)<=0;)n.pop();n.push(i)}return n.slice(0,-1)};return e.length<3?e:[...r(e),...r(e.reverse())]}function Zt(t,e){let r=e.length;return r<3?!0:e.every((a,n)=>Gt(a,e[(n+1)%r],t)>=-1e-9)}var Gt=(t,e,r)=>(e[0]-t[0])*(r[1]-t[1])-(e[1]-t[1])*(r[0]-t[0]);var G=3,it=360,Yt=.1,yt=t=>(t+G)/(2*G)*it,xt=t=>(G-t)/(2*G)*it,te=t=>Math.round(Math.min(Math.max(t,-G),G)*100)/100,ee=dt({name:"lookup",title:"Soft lookup",keys:["query","values","names","score","weights","temperature"],setup({model:t,body:e,say:r,set:a,signal:n}){let i=ut({label:"Score",part:"score",value:t.get("score"),options:[{value:"dot",text:"dot product"},{value:"distance",text:"closeness"}],onChange:$=>a({score:$})}),g=ut({label:"Weights",part:"weigh",value:t.get("weights"),options:["softmax","sparsemax","relu","none"].map($=>({value:$,text:$})),onChange:$=>a({weights:$})}),f=c("input",{type:"range",min:-2,max:2,step:.05,"data-part":"temperature","aria-label":"Temperature",style:"flex: 1 1 8rem; min-height: 28px; accent-color: var(--fig-query)",on:{input:()=>a({temperature:Math.round(10**Number(f.value)*1e3)/1e3})}}),m=c("span",{class:"attnlab-label",style:"min-width: 3.5rem"}),v=C("svg",{viewBox:`0 0 ${it} ${it}`,role:"group","aria-label":"The plane of keys and values; each point can be dragged, or moved with the arrow keys","data-part":"plane",style:"width: 100%; max-width: 26rem; height: auto; touch-action: none; display: block; margin: .8rem auto 0"}),O=c("tbody");e.append(c("div",{class:"attnlab-row"},c("span",{class:"attnlab-label"},"Score by"),i),c("div",{class:"attnlab-row"},c("span",{class:"attnlab-label"},"Weights by"),g),c("div",{class:"attnlab-row"},c("span",{class:"attnlab-label"},"Temperature"),f,m),v,c("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Table of numbers",style:"margin-top: .8rem"},c("table",{"data-part":"numbers"},c("thead",{},c("tr",{},...["point","x","y","score","weight"].map($=>c("th",{scope:"col"},$)))),O)));let j=[],B=C("polygon",{fill:"var(--fig-value)","fill-opacity":.12,stroke:"var(--fig-value)","stroke-opacity":.5}),Q=C("g",{}),R=C("circle",{r:9,fill:"var(--fig-output)","data-part":"output","pointer-events":"none"}),N=C("text",{fill:"var(--fig-output)","font-size":14,"text-anchor":"middle","pointer-events":"none"},"output"),U=$=>$==="query"?t.get("query"):t.get("values")[$];function H($,T,X){let b=[te(T),te(X)];a($==="query"?{query:b}:{values:t.get("values").map((k,M)=>M===$?b:k)})}function P($,T){let X=$==="query"?"query":"value",b=$==="query"?C("path",{d:"M 0 -11 L 11 0 L 0 11 L -11 0 Z",fill:`var(--fig-${X})`}):C("circle",{r:9,fill:`var(--fig-${X})`}),k=C("g",{tabindex:0,role:"slider","data-part":"handle","data-which":$,"aria-valuemin":-G,"aria-valuemax":G,style:"cursor: grab"},C("circle",{r:20,fill:"transparent"}),b,C("text",{y:-15,"text-anchor":"middle","font-size":14,fill:"var(--fig-ink)"},T));return Et(k,n,M=>{let W=v.getBoundingClientRect();H($,(M.clientX-W.left)/W.width*2*G-G,G-(M.clientY-W.top)/W.height*2*G)}),k.addEventListener("keydown",M=>{let W=M.key,S={ArrowRight:[1,0],ArrowLeft:[-1,0],ArrowUp:[0,1],ArrowDown:[0,-1]}[W];if(!S)return;M.preventDefault();let[l,o]=U($);H($,l+Yt*S[0],o+Yt*S[1])}),k}function V(){j=[...t.get("names").map((b,k)=>P(k,b)),P("query","query")];let T=C("path",{d:`M 0 ${it/2} H ${it} M ${it/2} 0 V ${it}`,stroke:"var(--fig-line)"}),X=C("rect",{x:.5,y:.5,width:it-1,height:it-1,fill:"none",stroke:"var(--fig-line)",rx:8});v.replaceChildren(X,T,B,Q,...j,R,N)}function q(){let $=t.get("values"),T=t.get("names"),X=l=>Array.isArray(l)&&l.length===2&&l.every(Number.isFinite);if(!Array.isArray($)||!$.length||!$.every(X)||$.length!==T.length)throw new Error("values must be points (x, y), one for each name.");if(!X(t.get("query")))throw new Error("query must be a point (x, y).");let b=Number(t.get("temperature"));if(!(b>0))throw new Error(`temperature must be positive, got ${t.get("temperature")}.`);let k=t.get("query"),M=Qt(k,$,t.get("score")),W=Ht(M,t.get("weights"),b),S=Kt(W,$);return{query:k,values:$,names:T,temperature:b,scores:M,weights:W,out:S,corners:Jt($)}}function I(){let{query:$,values:T,names:X,temperature:b,scores:k,weights:M,out:W,corners:S}=q();j.length!==X.length+1&&V(),st(i,t.get("score")),st(g,t.get("weights")),f.value=String(Math.log10(b)),f.setAttribute("aria-valuetext",A(b,3)),m.textContent=A(b,b<1?3:2),j.forEach((p,d)=>{let y=d<X.length?d:"query",[w,x]=U(y);p.setAttribute("transform",`translate(${yt(w)} ${xt(x)})`);let E=y==="query"?"query":`key and value ${X[d]}`;p.setAttribute("aria-label",E),p.setAttribute("aria-valuenow",String(w)),p.setAttribute("aria-valuetext",`x ${A(w)}, y ${A(x)}`)}),B.setAttribute("points",S.map(([p,d])=>`${yt(p)},${xt(d)}`).join(" ")),Q.replaceChildren(...T.map(([p,d],y)=>C("line",{x1:yt(p),y1:xt(d),x2:yt($[0]),y2:xt($[1]),stroke:M[y]<0?"var(--fig-key)":"var(--fig-query)","stroke-width":(.5+8*Math.min(Math.abs(M[y]),1)).toFixed(2),"stroke-opacity":Math.abs(M[y])<1e-9?.08:.45})));let l=W.map(p=>Math.min(Math.max(p,-G),G));R.setAttribute("cx",String(yt(l[0]))),R.setAttribute("cy",String(xt(l[1]))),N.setAttribute("x",String(yt(l[0]))),N.setAttribute("y",String(xt(l[1])+24));let o=(p,d,y)=>c("tr",{},c("th",{scope:"row"},p),...[d[0].toFixed(2),d[1].toFixed(2),...y].map(w=>c("td",{},w)));O.replaceChildren(o("query",$,["",""]),...T.map((p,d)=>o(X[d],p,[k[d].toFixed(4),M[d].toFixed(4)])),c("tr",{},c("th",{scope:"row"},"output"),...[W[0].toFixed(4),W[1].toFixed(4),"",M.reduce((p,d)=>p+d,0).toFixed(4)].map(p=>c("td",{},p))));let s=M.reduce((p,d)=>p+d,0),u=Zt(W,S)?"inside the hull of the values":"outside the hull of the values",h=M.indexOf(Math.max(...M));r(`The weights sum to ${A(s)}; the largest is ${A(M[h])}, of ${X[h]}. The output is ${u}.`)}function J(){let $=k=>`torch.tensor(${JSON.stringify(t.get(k))}, dtype=torch.float64)`,T=t.get("temperature"),X=t.get("score")==="dot"?"values @ query":"-(values - query).square().sum(-1) / 2",b={softmax:"scores.softmax(z)",sparsemax:"scores.sparsemax(z)",relu:"scores.relu(z)",none:"z"};return`import torch

from attnlab import scores

query = ${$("query")}
values = ${$("values")}  # the keys too: ${t.get("names").join(", ")}
z = (${X}) / ${T}
weights = ${b[t.get("weights")]}
print(weights)
print(weights @ values)
`}return{update:I,pytorch:J,svg:()=>St(v)}}});var At=["none","sinusoidal","learned","rotary","alibi","relative"],_e=(t,e,r)=>Array.from({length:e},(a,n)=>{let i=t*r**(-(n-n%2)/e);return n%2?Math.cos(i):Math.sin(i)});function ae(t,e,r){if(t.scheme==="alibi")return-t.slope*Math.abs(r-e);if(t.scheme!=="relative")return 0;let a=(t.relative.length-1)/2;return t.relative[Math.min(Math.max(r-e,-a),a)+a]}function Wt(t,e,r){if(!At.includes(t.scheme))throw new Error(`scheme must be one of ${At.join(", ")}, got “${t.scheme}”.`);let a=t.scheme==="sinusoidal"?_e(r,e.length,t.base):t.scheme==="learned"?t.learned[r]:e.map(()=>0),n=[e.map((v,O)=>v+a[O])],[i,g,f]=[t.wq,t.wk,t.wv].map(v=>bt(n,v)[0]),m=v=>t.scheme==="rotary"?Ot(v,r,t.base):v;return{q:m(i),k:m(g),v:f}}var ne=(t,e)=>t.reduce((r,a,n)=>r+a*e[n],0),Nt=(t,e,r,a,n)=>ne(Wt(t,e,a).q,Wt(t,r,n).k)/Math.sqrt(t.wq[0].length)+ae(t,a,n);function Lt(t,e){let r=e.map((n,i)=>Wt(t,t.x[n],i)),a=r.map(({q:n},i)=>ft(r.map(({k:g},f)=>ne(n,g)/Math.sqrt(n.length)+ae(t,i,f))));return{weights:a,output:bt(a,r.map(({v:n})=>n))}}var K=31,pt=12,[et,jt]=[300,346],[re,Mt]=[172,306],ct=240,Ce={none:"none",sinusoidal:"sinusoids",learned:"learned",rotary:"RoPE",alibi:"ALiBi",relative:"relative bias"},tt=t=>20+t*(et-40)/K,vt=t=>34+(t+pt)*(et-52)/(2*pt),at=(t,e)=>Array.from({length:e-t+1},(r,a)=>t+a),oe=t=>Math.min(Math.max(Math.round(t),0),K),se=dt({name:"positions",title:"Positions",keys:["scheme","m","n","order","asks","answers"],setup({model:t,body:e,say:r,set:a,signal:n}){let i=ut({label:"Scheme",part:"scheme",value:t.get("scheme"),options:At.map(o=>({value:o,text:Ce[o]})),onChange:o=>a({scheme:o})}),g=C("svg",{viewBox:`0 0 ${et} ${jt}`,role:"group","aria-label":"A line of positions with a query and a key to shift, and the score as a curve over their distance","data-part":"line",style:"flex: 1 1 18rem; min-width: 0; max-width: 25rem; height: auto; touch-action: pan-y; display: block"}),f=C("svg",{viewBox:`0 0 ${ct} ${ct}`,role:"img",style:"flex: 1 1 13rem; min-width: 0; max-width: 17rem; height: auto; display: block"}),m=c("div",{class:"attnlab-choices",role:"group","aria-label":"The sentence; pick two words to swap them"}),v=(o,s,u)=>c("button",{type:"button","data-part":s,on:{click:u}},o),O=c("tbody"),j=c("tr"),B=c("tbody"),Q=(o,s)=>c("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":o,style:"margin-top: .6rem"},s),R=o=>o.map(s=>c("th",{scope:"col"},s));e.append(c("div",{class:"attnlab-row"},c("span",{class:"attnlab-label"},"Positions"),i),c("div",{class:"attnlab-row",style:"align-items: flex-start"},g,c("div",{style:"flex: 1 1 14rem; min-width: 0"},c("p",{class:"attnlab-label"},"The sentence: pick two words to swap them"),c("div",{class:"attnlab-row",style:"margin-top: .4rem"},m),c("div",{class:"attnlab-row"},v("Shuffle","shuffle",()=>a({order:We(t.get("order"))})),v("As written","restore",()=>a({order:at(0,t.get("order").length-1)}))),c("p",{class:"attnlab-label"},"Outputs (two numbers each); a ring marks where one was as written"),f)),Q("Outputs of the sentence",c("table",{"data-part":"numbers"},c("thead",{},c("tr",{},...R(["place","token","output 1","output 2"]))),O)),c("details",{},c("summary",{},"Scores over the distance"),Q("Scores over the distance",c("table",{"data-part":"curve"},c("thead",{},j),B))));let N=-1,U,H={},P=C("g"),V={query:I("query"),key:I("key"),both:I("both")};g.append(P,...Object.values(V));function q(o,s){let[u,h]=[t.get("m"),t.get("n")];if(o==="query")a({m:oe(s)});else if(o==="key")a({n:oe(s)});else{let p=Math.min(Math.max(Math.round(s)-u,-Math.min(u,h)),K-Math.max(u,h));p&&a({m:u+p,n:h+p})}}function I(o){let s={query:()=>C("path",{d:"M 0 -11 L 11 0 L 0 11 L -11 0 Z",fill:"var(--fig-query)"}),key:()=>C("circle",{r:10,fill:"var(--fig-key)"}),both:()=>C("rect",{y:-13,height:26,rx:9,fill:"var(--fig-tint)",stroke:"var(--fig-quiet)"})}[o],u=C("g",{tabindex:0,role:"slider","data-part":"handle","data-which":o,"aria-valuemin":0,"aria-valuemax":K,style:"cursor: grab; touch-action: none"},o==="both"?"":C("circle",{r:19,fill:"transparent"}),s(),C("text",{y:{query:-16,key:25,both:5}[o],"text-anchor":"middle","font-size":14,fill:"var(--fig-ink)"})),h=0,p=d=>{let y=g.getBoundingClientRect();return((d.clientX-y.left)/y.width*et-20)/(et-40)*K};return u.addEventListener("pointerdown",d=>h=o==="both"?p(d)-t.get("m"):0,{signal:n}),Et(u,n,d=>q(o,p(d)-h)),u.addEventListener("keydown",d=>{let y={ArrowRight:1,ArrowUp:1,ArrowLeft:-1,ArrowDown:-1,PageUp:5,PageDown:-5,Home:-K,End:K}[d.key];y&&(d.preventDefault(),q(o,t.get(o==="key"?"n":"m")+y))}),u}function J(){let o=L=>t.get(L),[s,u,h,p]=[o("tokens"),o("order"),o("m"),o("n")],d={asks:o("asks"),answers:o("answers")};if(!Array.isArray(u)||u.length!==s.length||!at(0,s.length-1).every(L=>u.includes(L)))throw new Error(`order must hold each of 0 to ${s.length-1} once, got ${u}.`);for(let[L,F]of Object.entries({m:h,n:p}))if(!Number.isInteger(F)||F<0||F>K)throw new Error(`${L} must be a whole number from 0 to ${K}, got ${F}.`);for(let[L,F]of Object.entries(d))if(!s[F])throw new Error(`${L} must be from 0 to ${s.length-1}, got ${F}.`);let w={...Object.fromEntries(["x","wq","wk","wv","learned","relative","slope","base"].map(L=>[L,o(L)])),scheme:o("scheme")},x=s.map((L,F)=>{let ht=s.filter(Z=>Z===L).length>1,nt=s.slice(0,F).filter(Z=>Z===L).length;return L+(ht?"₁₂₃₄₅₆₇₈₉"[nt%9]:"")});return{head:w,tokens:s,order:u,m:h,n:p,names:x,ask:(L,F)=>Nt(w,w.x[d.asks],w.x[d.answers],L,F),...d}}function $({head:o,asks:s,answers:u}){let h=At.map(p=>({...o,scheme:p})).flatMap(p=>at(0,K).flatMap(d=>at(Math.max(d-pt,0),Math.min(d+pt,K)).map(y=>Nt(p,p.x[s],p.x[u],d,y))));return{low:Math.floor(Math.min(...h)),high:Math.ceil(Math.max(...h))}}function T({head:o,order:s}){let u=s.map((p,d)=>[...s.slice(d),...s.slice(0,d)]),h=[...u,...u.map(p=>p.slice().reverse())].flatMap(p=>Lt(o,p).output);return[0,1].flatMap(p=>[Math.min(...h.map(d=>d[p])),Math.max(...h.map(d=>d[p]))])}function X(){let o=J(),{head:s,order:u,m:h,n:p,names:d,ask:y,asks:w,answers:x}=o,E=y(h,p);U??=$(o),H[s.scheme]??=T(o),st(i,s.scheme),M(o,U,E);let{output:L}=Lt(s,u),F=Lt(s,at(0,u.length-1)).output,ht=u.map((z,D)=>Math.hypot(...L[D].map((lt,Ct)=>lt-F[z][Ct])));W(u.map((z,D)=>({name:d[z],at:L[D],from:F[z]})),H[s.scheme]),m.childElementCount!==u.length&&m.replaceChildren(...u.map((z,D)=>v("","token",()=>k(D)))),[...m.children].forEach((z,D)=>{z.textContent=`${D} ${d[u[D]]}`,z.setAttribute("aria-pressed",String(D===N)),z.style.outline=D===N?"3px solid var(--fig-query)":""});let nt=([z,...D])=>c("tr",{},c("th",{scope:"row"},z),...D.map(lt=>c("td",{},lt)));O.replaceChildren(...u.map((z,D)=>nt([String(D),d[z],...L[D].map(lt=>A(lt,4))])));let Z=[h,...[0,10,21,K].filter(z=>z!==h)];b(Z),B.replaceChildren(...at(-pt,pt).map(z=>nt([A(z,0),...Z.map(D=>D+z<0||D+z>K?"":A(y(D,D+z),4))])));let rt=at(0,K).filter(z=>z+p-h>=0&&z+p-h<=K).map(z=>y(z,z+p-h)),[ot,gt]=[Math.min(...rt),Math.max(...rt)],mt=rt.length<2?"There is no room to shift both.":gt-ot<1e-9?"Shift both, and it stays.":`Shift both, and it runs from ${A(ot)} to ${A(gt)}.`,_=Te(d,o.tokens,u,L),Y=u.every((z,D)=>z===D)?"":Math.max(...ht)<1e-9?" The new order changed no token's output.":` The new order moved an output by up to ${A(Math.max(...ht))}.`;r(`${d[w]} at ${h} asks ${d[x]} at ${p}, distance ${A(p-h,0)}: score ${A(E)}. ${mt}${_}${Y}`)}function b(o){j.replaceChildren(...R(["key minus query",...o.map(s=>`query at ${s}`)]))}function k(o){let s=t.get("order").slice(),u=N;N=u<0?o:-1,u>=0&&([s[u],s[o]]=[s[o],s[u]]),a({order:s})}function M({m:o,n:s,names:u,asks:h,answers:p,ask:d},{low:y,high:w},x){let E=_=>Mt-(_-y)/(w-y)*(Mt-re),L=(_,Y,z,D="middle",lt="var(--fig-quiet)")=>C("text",{x:_,y:Y,"text-anchor":D,"font-size":13,fill:lt},z),F=_=>at(Math.max(-pt,-_),Math.min(pt,K-_)).map((Y,z)=>`${z?"L":"M"} ${vt(Y).toFixed(1)} ${E(d(_,_+Y)).toFixed(1)}`).join(" "),ht=Math.ceil((w-y)/5),nt=at(y,w).filter(_=>_%ht===0);P.replaceChildren(C("path",{d:`M ${tt(0)} 70 H ${tt(K)} ${at(0,K).map(_=>`M ${tt(_)} ${_%10?67:63} V ${_%10?73:77}`).join(" ")}`,stroke:"var(--fig-quiet)",fill:"none"}),...[0,10,20,30].map(_=>L(tt(_),92,String(_))),...nt.map(_=>C("path",{d:`M 34 ${E(_)} H ${et-18}`,stroke:"var(--fig-line)"})),...nt.map(_=>L(28,E(_)+4,A(_,0),"end")),...at(-3,3).map(_=>L(vt(4*_),Mt+17,A(4*_,0))),L(vt(0),Mt+35,"distance: key minus query"),L(4,re-12,"score (dashed: query at 0, 10, 21, 31)","start"),...[0,10,21,K].map(_=>C("path",{d:F(_),fill:"none",stroke:"var(--fig-quiet)","stroke-width":1.2,"stroke-dasharray":"4 3"})),C("path",{d:F(o),fill:"none",stroke:"var(--fig-query)","stroke-width":2.5})),Math.abs(s-o)<=pt&&P.append(C("path",{d:`M ${vt(s-o)} ${Mt} V ${E(x)}`,stroke:"var(--fig-key)","stroke-dasharray":"2 3"}),C("circle",{cx:vt(s-o),cy:E(x),r:6,fill:"var(--fig-key)",stroke:"var(--fig-paper)","stroke-width":2}),L(Math.min(Math.max(vt(s-o),50),et-40),E(x)-11,A(x),"middle","var(--fig-ink)"));let Z=(_,Y,z,D,lt,Ct,be)=>{_.setAttribute("transform",`translate(${Y.toFixed(1)} ${z})`),_.lastElementChild.textContent=D;for(let[ye,xe]of Object.entries({"aria-label":lt,"aria-valuenow":Ct,"aria-valuetext":be}))_.setAttribute(ye,String(xe))},rt=_=>Math.min(Math.max(_,34),et-34);Z(V.query,tt(o),34,u[h],`query of ${u[h]}`,o,`position ${o}`),Z(V.key,tt(s),106,u[p],`key of ${u[p]}`,s,`position ${s}`);for(let[_,Y]of[[V.query,o],[V.key,s]])_.lastElementChild.setAttribute("x",(rt(tt(Y))-tt(Y)).toFixed(1));let ot=Math.max(Math.abs(tt(s)-tt(o)),44),gt=Math.min(Math.max((tt(o)+tt(s))/2,ot/2),et-ot/2);Z(V.both,gt,70,A(s-o,0),"query and key together",o,`query at ${o}, key at ${s}`);let mt=V.both.querySelector("rect");mt.setAttribute("x",String(-ot/2)),mt.setAttribute("width",String(ot))}function W(o,[s,u,h,p]){let d=1.3*Math.max(u-s,p-h,1e-6),y=([x,E])=>[((x-(s+u)/2)/d+.5)*ct,(.5-(E-(h+p)/2)/d)*ct],w=[];for(let{name:x,at:E}of o){let L=w.find(F=>Math.hypot(F.at[0]-E[0],F.at[1]-E[1])<1e-9);L?L.name=[...L.name.split(" = "),x].sort().join(" = "):w.push({name:x,at:E,spot:y(E)})}f.replaceChildren(C("rect",{x:.5,y:.5,width:ct-1,height:ct-1,rx:8,fill:"none",stroke:"var(--fig-line)"}),...o.map(({at:x,from:E})=>C("path",{d:`M ${y(E).join(" ")} L ${y(x).join(" ")}`,stroke:"var(--fig-output)","stroke-opacity":.5})),...o.map(({from:x})=>C("circle",{cx:y(x)[0],cy:y(x)[1],r:9,fill:"none",stroke:"var(--fig-output)"})),...o.map(({at:x})=>C("circle",{cx:y(x)[0],cy:y(x)[1],r:6,fill:"var(--fig-output)"})),...w.map(x=>{let[E,L]=x.spot,F=5+4*x.name.length,nt=[[0,-13],[0,24],[F+10,5],[-F-10,5]].map(([Z,rt])=>{let[ot,gt]=[Math.min(Math.max(E+Z,F),ct-F),L+rt-5],mt=w.map(({spot:_,name:Y})=>Y===x.name?99:Math.hypot((_[0]-ot)/(F+8),(_[1]-gt)/16));return{cx:ot,cy:gt+5,gap:Math.min(1.5,...mt)}}).reduce((Z,rt)=>rt.gap>Z.gap?rt:Z);return C("text",{x:nt.cx.toFixed(1),y:nt.cy.toFixed(1),"text-anchor":"middle","font-size":14,fill:"var(--fig-ink)"},x.name)})),f.setAttribute("aria-label",`The outputs in a plane: ${w.map(({name:x,at:E})=>`${x} at ${A(E[0])}, ${A(E[1])}`).join("; ")}`)}function S(){let o=w=>`torch.tensor(${JSON.stringify(t.get(w))}, dtype=torch.float64)`,[s,u]=[t.get("scheme"),(t.get("relative").length-1)/2],h={sinusoidal:`    x = x + positions.sinusoidal(len(x), 4, base=base, dtype=x.dtype)
`,learned:`    x = x + learned[: len(x)]
`}[s]??"",p=s==="rotary"?`    q, k = positions.rotary(q, base=base), positions.rotary(k, base=base)
`:"",d={alibi:`    return -${t.get("slope")} * distance.abs().double()`,relative:`    return relative[distance.clamp(-${u}, ${u}) + ${u}]`}[s]??"    return torch.zeros_like(distance, dtype=torch.float64)",y=["learned","relative"].includes(s)?`${s} = ${o(s)}
`:"";return`import torch

from attnlab import attention, positions

base = ${t.get("base")}
x = ${o("x")}  # ${t.get("tokens").join(", ")}
wq = ${o("wq")}
wk = ${o("wk")}
wv = ${o("wv")}
${y}

def views(x):
${h}    q, k, v = x @ wq, x @ wk, x @ wv
${p}    return q, k, v


def bias(n):
    distance = torch.arange(n) - torch.arange(n)[:, None]  # of the key from the query
${d}


q, k = views(x[${t.get("asks")}].expand(32, 4))[0], views(x[${t.get("answers")}].expand(32, 4))[1]
print(round((q @ k.T / 2 + bias(32))[${t.get("m")}, ${t.get("n")}].item(), 4))  # the score
sentence = x[${JSON.stringify(t.get("order"))}]
print(attention(*views(sentence), bias=bias(len(sentence))))
`}return{update:X,pytorch:S,svg:l};function l(){let o=(s,u)=>{let h=s.cloneNode(!0);for(let[p,d]of Object.entries(u))h.setAttribute(p,String(d));return h.removeAttribute("style"),h};return St(C("svg",{viewBox:`0 0 ${et+ct+20} ${jt}`,"font-family":"system-ui, sans-serif"},o(g,{x:0,y:0,width:et,height:jt}),o(f,{x:et+10,y:50,width:ct,height:ct})))}}});function Te(t,e,r,a){let n=e.findIndex((v,O)=>e.indexOf(v,O+1)>0);if(n<0)return"";let i=e.indexOf(e[n],n+1),[g,f]=[n,i].map(v=>a[r.indexOf(v)]),m=Math.hypot(g[0]-f[0],g[1]-f[1]);return m<1e-9?` ${t[n]} and ${t[i]} get the same output.`:` The outputs of ${t[n]} and ${t[i]} lie ${A(m)} apart.`}function We(t){let e=t.slice();do for(let r=e.length-1;r>0;r--){let a=Math.floor(Math.random()*(r+1));[e[r],e[a]]=[e[a],e[r]]}while(e.length>1&&e.every((r,a)=>r===t[a]));return e}var le=["n't","'s","'m","'re","'ve","'ll","'d"],ie=new Set(`mr. mrs. ms. dr. prof. st. jr. sr. vs. etc. inc. co. corp. ltd. gen. rep. sen. gov. lt. col. no. ph.d. fig.
al. jan. feb. mar. apr. jun. jul. aug. sep. sept. oct. nov. dec. ave. blvd. rd. approx. dept. est.`.split(/\s+/)),Ne=/^(?:(?:[A-Za-z][A-Za-z0-9+.-]*:\/\/|[Ww][Ww][Ww]\.)[^ ]|[^@]+@[^@.]+\.[^@])/u,je=/^(?:[A-Za-z]\.)+[A-Za-z]?\.?$/,Ie=t=>/^[\p{Z}\p{Cc}]$/u.test(t),wt=t=>/^[\p{L}\p{M}\p{N}_]$/u.test(t),It=t=>/^\p{N}$/u.test(t),ze=t=>/^[\p{M}\p{Cf}\p{Sk}]$/u.test(t)&&t.codePointAt(0)>127,Re=t=>t.replaceAll("’","'").toLowerCase();function zt(t){let e=Array.from(t,n=>/^[\ud800-\udfff]$/.test(n)?"�":n),r=[],a="";for(let n of[...e," "])Ie(n)?a&&(r.push(...Ue(a)),a=""):a+=n;return r}function ue(t){let e=Array.from(t.toLowerCase()),r="",a="",n=0;for(let i of t){let g=Fe(i);n=g===a?n+1:1,a=g,n<=2&&(r+=g)}return[`w=${e.join("")}`,...[1,2,3].map(i=>`p${i}=${e.slice(0,i).join("")}`),...[1,2,3,4].map(i=>`s${i}=${e.slice(-i).join("")}`),`shape=${Array.from(r).slice(0,8).join("")}`]}function pe(t,e,r){let a=(2166136261^e)>>>0;for(let n of new TextEncoder().encode(t))a=Math.imul(a^n,16777619)>>>0;return a%r}function Fe(t){return/^[\p{Lu}\p{Lt}]$/u.test(t)?"X":/^\p{L}$/u.test(t)?"x":It(t)?"d":t}function Ue(t){let[e,...r]=Xe(t),[a,n]=r,i=a+n;return ie.has(i.toLowerCase())||je.test(i)&&i.slice(0,-1).includes(".")?[a,n]=[i,""]:n.startsWith(".")&&ie.has(`${a}.`.toLowerCase())&&([a,n]=[`${a}.`,n.slice(1)]),[...ce(e),...Ne.test(a)?[a]:Be(a),...ce(n)]}function Xe(t){if(le.includes(Re(t)))return["",t,""];let e=Array.from(t),r=e.findIndex(wt);if(r<0)return[t,"",""];let a=e.findLastIndex(wt)+1;return[e.slice(0,r),e.slice(r,a),e.slice(a)].map(n=>n.join(""))}function ce(t){let e=[];for(let r of t){let a=e.length?Array.from(e[e.length-1]).at(-1):"";a&&(r===a||ze(r)||a==="‍")?e[e.length-1]+=r:e.push(r)}return e}function Be(t){if(!t)return[];let e=Array.from(t),r=[],a=0;for(let i=1;i<e.length-1;i++)!wt(e[i])&&!De(e,i)&&(r.push(e.slice(a,i).join(""),e[i]),a=i+1);r.push(e.slice(a).join(""));let n=[];for(let i of r.filter(Boolean)){let g=Array.from(i),f=n.length?Array.from(n[n.length-1]).at(-1):"";g.length===1&&!wt(i)&&i===f?n[n.length-1]+=i:n.push(...Pe(i))}return n}function De(t,e){let[r,a,n]=[t[e-1],t[e],t[e+1]];return!wt(r)||!wt(n)?!1:".,:".includes(a)?It(r)&&It(n)||a===".":"'’&".includes(a)}function Pe(t){let e=Array.from(t),r=Array.from(t.toLowerCase().replaceAll("’","'"));if(r.length!==e.length)return[t];let a=r.join("");if(a==="cannot")return[t.slice(0,3),t.slice(3)];for(let n of le)if(a.endsWith(n)&&r.length>n.length){let i=e.length-n.length;return[e.slice(0,i).join(""),e.slice(i).join("")]}return[t]}function Rt(t){let e=new DataView(t.buffer,t.byteOffset,t.byteLength),r=Number(e.getBigUint64(0,!0)),a=JSON.parse(new TextDecoder().decode(t.subarray(8,8+r))),n={};for(let[g,{dtype:f,shape:m,data_offsets:v}]of Object.entries(a)){if(g==="__metadata__")continue;let[O,j]=v.map(R=>R+8+r),B=new Uint8Array(t.subarray(O,j)),Q=f==="F32"?new Float32Array(B.buffer):f==="I8"?new Int8Array(B.buffer):B;n[g]={shape:m,dtype:f,data:Float64Array.from(Q)}}let i={};for(let[g,f]of Object.entries(n))if(!g.endsWith(".scale"))if(!g.endsWith(".q"))i[g]=f;else{let m=g.slice(0,-2),v=n[`${m}.scale`].data;i[m]=f.dtype==="U8"?Ve(f,v):Qe(f,v)}return{card:JSON.parse(a.__metadata__.card),tensors:i}}function Ve({shape:[t,e],data:r},a){let n=2*e,i=new Float64Array(t*n);for(let g=0;g<t;g++)for(let f=0;f<e;f++){let m=r[g*e+f];i[g*n+f]=Math.fround(((m&15)-8)*a[f]),i[g*n+e+f]=Math.fround(((m>>4)-8)*a[e+f])}return{shape:[t,n],data:i}}function Qe({shape:t,data:e},r){return{shape:t,data:e.map((a,n)=>Math.fround(a*r[Math.floor(n/t[1])]))}}function fe({card:t,tensors:e},r){let{n_buckets:a,d_model:n,n_heads:i,n_layers:g,seeds:f}=t.form,m=e["table.weight"].data,v=r.map(N=>{let U=new Array(n).fill(0);for(let H of ue(N))for(let P of f){let V=pe(H,P,a)*n;for(let q=0;q<n;q++)U[q]+=m[V+q]}return U}),O=(N,U)=>{let{shape:H,data:P}=e[`${U}.weight`],V=Array.from(e[`${U}.bias`].data);for(let q=0;q<H[0];q++)for(let I=0;I<H[1];I++)V[q]+=P[q*H[1]+I]*N[I];return V},j=(N,U)=>Bt(N,e[`${U}.weight`].data,e[`${U}.bias`].data),B=[];for(let N=0;N<g;N++){let U=`layers.${N}`,H=v.map(T=>j(T,`${U}.norm`)),[P,V,q]=["q","k","v"].map(T=>H.map(X=>O(X,`${U}.attention.${T}_proj`))),I=P.length?P[0].length/i:0,J=[],$=r.map(()=>[]);for(let T=0;T<i;T++){let X=M=>M.slice(T*I,(T+1)*I),b=[P,V].map(M=>M.map((W,S)=>Ot(X(W),S))),k=b[0].map(M=>ft(b[1].map(W=>M.reduce((S,l,o)=>S+l*W[o],0)/Math.sqrt(I))));J.push(k),k.forEach((M,W)=>{for(let S=0;S<I;S++)$[W].push(M.reduce((l,o,s)=>l+o*q[s][T*I+S],0))})}B.push(J),v=v.map((T,X)=>de(T,O($[X],`${U}.attention.out_proj`))),v=v.map(T=>{let X=O(j(T,`${U}.norm2`),`${U}.up`).map(b=>Math.max(b,0));return de(T,O(X,`${U}.down`))})}let Q=v.map(N=>ft(O(j(N,"norm"),"out"))),R=Q.map(N=>t.tags[N.indexOf(Math.max(...N))]);return{tokens:r,tags:R,probabilities:Q,weights:B}}var de=(t,e)=>t.map((r,a)=>r+e[a]);var _t=128,he=["I saw a saw","What do you do?","There were many hotels there.","Can you open the can?"];function Ft(t,e){let r=t.flat(),[a,n]=e.split(".").map(Number),i=t[a-1]?.[n-1];if(i)return i;let g=r[0]?.length??0;return Array.from({length:g},(f,m)=>Array.from({length:g},(v,O)=>r.reduce((j,B)=>j+B[m][O],0)/r.length))}async function He(t,e){let r=t.get("model");if(r?.byteLength)return Rt(new Uint8Array(r.buffer??r,r.byteOffset??0,r.byteLength));let a=()=>globalThis.attnlabModels?.tagger;return a()||await new Promise((n,i)=>{let g=document.createElement("script");g.src=new URL("models/tagger-model.js",e??document.baseURI).href,g.onload=n,g.onerror=()=>i(new Error("its weights (models/tagger-model.js) did not load. Reload the page.")),document.head.append(g)}),Rt(Uint8Array.from(atob(a()),n=>n.charCodeAt(0)))}var ge=dt({name:"tag",title:"Tag a sentence",keys:["sentence","word","head"],async setup({model:t,body:e,say:r,set:a,signal:n,place:i}){let g=await He(t,i.base),{card:f}=g,m,v="",O=0,j=c("input",{type:"text","aria-label":"A sentence to tag","data-part":"sentence",autocomplete:"off",spellcheck:"false",dir:"auto",on:{input:()=>a({sentence:j.value,word:-1})}}),B=c("div",{class:"attnlab-row attnlab-examples"},c("span",{class:"attnlab-label"},"Try"));for(let b of he){let k=()=>a({sentence:b,word:b===he[0]?3:-1});B.append(c("button",{type:"button","data-part":"example",on:{click:k}},b))}let Q=ut({label:"Which attention head",part:"heads",value:t.get("head"),options:[{value:"mean",text:"all heads"},...Array.from({length:f.form.n_layers*f.form.n_heads},(b,k)=>{let[M,W]=[Math.floor(k/f.form.n_heads)+1,k%f.form.n_heads+1],S=f.form.n_layers>1?`${M}.${W}`:String(W);return{value:`${M}.${W}`,text:S}})],onChange:b=>a({head:b})}),R=c("div",{class:"attnlab-tokens",role:"radiogroup","aria-label":"The words, each with its tag",on:{keydown:q}}),N=c("p",{"data-part":"alternatives"}),U=c("tbody"),H=c("table",{"data-part":"numbers"},c("caption",{},"Every number"),c("thead",{},c("tr",{},...["word","tag","probability","weight"].map(b=>c("th",{scope:"col"},b)))),U),P=f.form.n_layers>1?" (layer.head; layers look one after the other)":"";e.append(j,B,c("div",{class:"attnlab-row"},c("span",{class:"attnlab-label"},`Attention of${P}`),Q),R,N,c("details",{},c("summary",{},"The numbers as a table"),c("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Table of numbers"},H)),c("p",{class:"attnlab-note","data-part":"card"},`Trained on ${f.data} (${f.licence}); ${f.accuracy.test} % of its test words come out right. It knows no more English than that.`));let V=new ResizeObserver(()=>X());V.observe(R),n.addEventListener("abort",()=>V.disconnect());function q(b){let k={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[b.key],M=m.tokens.length;!k||!M||(b.preventDefault(),a({word:(Math.max(t.get("word"),0)+k+M)%M}),R.querySelector('[tabindex="0"]')?.focus())}function I(){let b=String(t.get("sentence")??"");if(m&&b===v)return;v=b;let k=zt(b);O=Math.max(k.length-_t,0),m=fe(g,k.slice(0,_t))}let J=()=>{let b=Number(t.get("word")??-1);return b>=0&&b<m.tokens.length?b:-1};function $(){I(),j.value!==v&&(j.value=v),st(Q,t.get("head"));let b=J(),k=b<0?[]:Ft(m.weights,t.get("head"))[b],M=R.contains(document.activeElement);R.replaceChildren(...m.tokens.map((W,S)=>{let l=Math.max(...m.probabilities[S]),o=c("button",{type:"button",class:"attnlab-token",role:"radio","aria-checked":S===b?"true":"false",tabindex:S===Math.max(b,0)?0:-1,"data-part":"token",on:{click:()=>a({word:S})}},c("b",{dir:"auto"},W),c("span",{},m.tags[S]),c("i",{},b<0?`${A(100*l,0)} %`:`gives ${A(100*k[S],0)} %`));return b>=0&&qt(o,k[S]),o})),M&&R.querySelector('[tabindex="0"]')?.focus(),U.replaceChildren(...m.tokens.map((W,S)=>c("tr",{},c("th",{scope:"row",dir:"auto"},W),c("td",{},m.tags[S]),c("td",{},Math.max(...m.probabilities[S]).toFixed(4)),c("td",{},b<0?"–":k[S].toFixed(4))))),T(b,k),X()}function T(b,k){if(!m.tokens.length){N.textContent="",r("Type a sentence: there is nothing to tag yet.");return}let M=O?` Only the first ${_t} of ${_t+O} words are shown.`:"";if(b<0){N.textContent="Pick a word to see where the tagger looked.",r(m.tokens.map((o,s)=>`${o} ${m.tags[s]}`).join(", ")+"."+M);return}let W=m.probabilities[b].map((o,s)=>({p:o,tag:f.tags[s]})).sort((o,s)=>s.p-o.p).slice(0,3);N.textContent=W.map(({p:o,tag:s})=>`${s} ${A(100*o,1)} %`).join(" · ");let S=k.indexOf(Math.max(...k)),l=S===b?"itself":`“${m.tokens[S]}” (word ${S+1})`;r(`“${m.tokens[b]}” (word ${b+1}) is ${m.tags[b]}. It takes most from ${l}: ${A(100*k[S],0)} %.${M}`)}function X(){R.querySelector("svg")?.remove();let b=J(),k=[...R.querySelectorAll(".attnlab-token")],M=k.length>1&&k.every(s=>s.offsetTop===k[0].offsetTop),W=b>=0&&M&&R.clientWidth>480;if(R.classList.toggle("has-arcs",W),!W)return;let S=Ft(m.weights,t.get("head"))[b],l=C("svg",{class:"attnlab-arcs","aria-hidden":"true","data-part":"arcs"}),o=k.map(s=>s.offsetLeft+s.offsetWidth/2);k.forEach((s,u)=>{if(S[u]<.02)return;let[h,p]=[o[b],o[u]],d=u===b?26:Math.min(24+Math.abs(p-h)*.16,76),y=u===b?`M ${h-9} 82 C ${h-22} ${82-d*1.4}, ${h+22} ${82-d*1.4}, ${h+9} 82`:`M ${h} 82 C ${h} ${82-d}, ${p} ${82-d}, ${p} 82`;l.append(C("path",{d:y,fill:"none",stroke:"var(--fig-query)","stroke-width":(1+9*S[u]).toFixed(2),"stroke-opacity":(.25+.7*S[u]).toFixed(2),"stroke-linecap":"round"}))}),R.prepend(l)}return{update:$,pytorch:()=>Ke(v,J(),t.get("head")),svg:()=>Je(m,J(),t.get("head"))}}});function Ke(t,e,r){let[a,n]=r.split(".").map(Number),i=r==="mean"?"tagged.weights.mean((0, 1))":`tagged.weights[${a-1}, ${n-1}]`,g=e<0?"":`weights = ${i}[${e}]  # how much word ${e} takes of each word
`;return`from attnlab.tagging import shipped

tagged = shipped.load().tag(${JSON.stringify(t)})
${g}for i, (token, tag) in enumerate(zip(tagged.tokens, tagged.tags)):
    print(token, tag, round(tagged.probabilities[i].max().item(), 4)${e<0?"":", round(weights[i].item(), 4)"})
`}function Je(t,e,r){let a=e<0?[]:Ft(t.weights,r)[e],n=110,i=t.tokens.map((f,m)=>{let v=10+m*n,O=a[m]??0;return`<rect x="${v}" y="10" width="${n-8}" height="76" rx="8" fill="#0069a8" fill-opacity="${(.52*O).toFixed(3)}" stroke="${m===e?"#0069a8":"#d5dae0"}" stroke-width="2"/><text x="${v+51}" y="36" font-size="18">${$t(f)}</text><text x="${v+51}" y="57" font-size="13">${t.tags[m]}</text><text x="${v+51}" y="76" font-size="13">${e<0?"":`${A(100*O,0)} %`}</text>`}),g=12+t.tokens.length*n;return`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${g} 96" width="${g}" height="96" font-family="sans-serif" fill="#1b1f24" text-anchor="middle">${i.join("")}</svg>`}var Ze=Object.fromEntries([Vt,ee,se,ge].map(t=>[t.name,t])),Ge=document.currentScript,Ye=new URL(".",Ge?.src||document.baseURI).href;function ta(t){let e=t.dataset.attnlab??"",r=Ze[e];if(!r||t.dataset.mounted)return;t.dataset.mounted="true";let a=[...document.querySelectorAll(`figure[data-attnlab="${e}"]`)].indexOf(t),n=a?`${e}-${a+1}`:e;t.id||=`figure-${n}`;let i=JSON.parse(t.dataset.settings??"{}"),g=new URLSearchParams(location.search).get(n);g&&Object.assign(i,ea(g,r.keys));let f=t.querySelector("figcaption"),m=document.createElement("div");t.replaceChildren(m,...f?[f]:[]);let v=O=>{let j=new URL(location.href);return j.searchParams.set(n,JSON.stringify(O)),j.hash=t.id,j.href};r.render({model:aa(i),el:m,place:{base:Ye,link:v}})}function ea(t,e){try{let r=JSON.parse(t);return Object.fromEntries(Object.entries(r).filter(([a])=>e.includes(a)))}catch{return{}}}function aa(t){return{get:e=>t[e],set:(e,r)=>{t[e]=r},save_changes(){},on(){}}}var me=()=>document.querySelectorAll("figure[data-attnlab]").forEach(t=>ta(t));document.readyState==="loading"?document.addEventListener("DOMContentLoaded",me):me();})();
