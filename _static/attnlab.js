"use strict";(()=>{function c(t,e={},...n){let a=document.createElement(t);for(let[r,o]of Object.entries(e))if(r==="on")for(let[d,u]of Object.entries(o))a.addEventListener(d,u);else o===!0?a.setAttribute(r,""):o!=null&&o!==!1&&a.setAttribute(r,String(o));return a.append(...n.filter(r=>r!=null)),a}function X(t,e={},...n){let a=document.createElementNS("http://www.w3.org/2000/svg",t);for(let[r,o]of Object.entries(e))a.setAttribute(r,String(o));return a.append(...n),a}function W(t,e=2){if(t===-1/0)return"−∞";if(Math.abs(t)>=1e5)return t.toExponential(1).replace("-","−");let n=t.toFixed(e);return Number(n)===0?n.replace("-",""):n.replace("-","−")}function J({label:t,options:e,value:n,part:a,onChange:r}){let o=e.map(u=>c("button",{type:"button",role:"radio","aria-checked":u.value===n?"true":"false",tabindex:u.value===n?0:-1,"data-value":u.value,on:{click:()=>r(u.value)}},u.text)),d=c("div",{class:"attnlab-choices",role:"radiogroup","aria-label":t,"data-part":a});return d.append(...o),d.addEventListener("keydown",u=>{let h={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[u.key],y=o.findIndex(_=>_===u.target);if(!h||y<0)return;u.preventDefault();let M=o[(y+h+o.length)%o.length];P(d,M.dataset.value),M.focus(),r(M.dataset.value)}),d}function P(t,e){for(let n of t.querySelectorAll("button")){let a=n.dataset.value===e;n.setAttribute("aria-checked",String(a)),n.tabIndex=a?0:-1}}function nt(t,e,n="query"){let a=Math.round(52*Math.min(Math.max(e,0),1)*10)/10;t.style.backgroundColor=`color-mix(in srgb, var(--fig-${n}) ${a}%, transparent)`}var pt=`/* The figures carry their own colours: in Lab and Colab there is no book theme around them. */
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
`;function Z(t){return{name:t.name,keys:t.keys,async render({model:e,el:n,signal:a,place:r={}}){let o=new AbortController;a?.addEventListener("abort",()=>o.abort()),Rt(n);let d=Object.fromEntries(t.keys.map(q=>[q,structuredClone(e.get(q))])),u=c("div",{class:"attnlab-body"}),h=c("p",{class:"attnlab-status",role:"status","data-part":"status"}),y=c("p",{class:"attnlab-error",role:"alert","data-part":"error",hidden:!0}),M=c("div",{class:"attnlab-bar",role:"group","aria-label":`${t.title}: actions`}),_=c("div",{class:"attnlab-root","data-lm-suppress-shortcuts":"true","data-figure":t.name},u,y,h,M);n.replaceChildren(_);let j,z=q=>{try{q(),y.hidden=!0}catch(O){console.warn("attnlab figure:",O),y.textContent=`This figure could not be drawn: ${O instanceof Error?O.message:O}`,y.hidden=!1}},C=()=>z(()=>j?.update()),L=q=>{for(let[O,D]of Object.entries(q))e.set(O,D);e.save_changes(),C()},T=q=>{h.textContent!==q&&(h.textContent=q)};try{j=await t.setup({model:e,body:u,say:T,set:L,signal:o.signal,place:r})}catch(q){return z(()=>{throw q}),()=>o.abort()}let F=()=>Object.fromEntries(t.keys.map(q=>[q,e.get(q)]));M.append(I("Reset","reset",()=>(L(structuredClone(d)),"Reset.")),r.link?I("Copy link","link",()=>U(r.link(F()))):"",I("Copy as PyTorch","pytorch",()=>U(j.pytorch())),I("Save SVG","svg",()=>It(j.svg(),`attnlab-${t.name}.svg`))),C();for(let q of t.keys)e.on(`change:${q}`,C),o.signal.addEventListener("abort",()=>e.off?.(`change:${q}`,C));return()=>o.abort();function I(q,O,D){let Q=c("button",{type:"button","data-part":O},q);return Q.addEventListener("click",async()=>{try{T(await D())}catch(f){T(`That did not work: ${f instanceof Error?f.message:f}`)}}),Q}async function U(q){_.querySelector(".attnlab-copied")?.remove();try{return await navigator.clipboard.writeText(q),"Copied."}catch{let O=c("textarea",{class:"attnlab-copied",readonly:!0,rows:Math.min(q.split(`
`).length,12),"aria-label":"Text to copy","data-part":"copied"});return O.value=q,M.after(O),O.focus(),O.select(),"The text is selected below: copy it with your keyboard."}}}}}function It(t,e){let n=URL.createObjectURL(new Blob([t],{type:"image/svg+xml"}));return c("a",{href:n,download:e}).click(),setTimeout(()=>URL.revokeObjectURL(n),1e4),`Saved ${e}.`}function Rt(t){t.classList.add("attnlab-figure");let e=t.getRootNode(),n=e instanceof Document?e.head:e instanceof ShadowRoot?e:t;if(n.querySelector?.("style[data-attnlab]"))return;let a=c("style",{"data-attnlab":!0});a.textContent=pt,n.append(a)}var ot=(t,e)=>t.map(n=>e[0].map((a,r)=>n.reduce((o,d,u)=>o+d*e[u][r],0))),Ft=t=>t[0].map((e,n)=>t.map(a=>a[n]));function G(t){let e=Math.max(...t);if(e===-1/0)return t.map(()=>0);let n=t.map(r=>Math.exp(r-e)),a=n.reduce((r,o)=>r+o,0);return n.map(r=>r/a)}function dt({x:t,wq:e,wk:n,wv:a,scale:r=null,causal:o=!1}){let[d,u,h]=[e,n,a].map(z=>ot(t,z)),y=ot(d,Ft(u)),M=r??1/Math.sqrt(d[0].length),_=y.map((z,C)=>z.map((L,T)=>o&&T>C?-1/0:L*M)),j=_.map(G);return{q:d,k:u,v:h,scores:y,factor:M,scaled:_,weights:j,output:ot(j,h)}}function ft(t,e,n){let a=t.length,r=0;for(let u=0;u<a;u++)r+=t[u]/a;let o=0;for(let u=0;u<a;u++)o+=(t[u]-r)**2/a;let d=Math.sqrt(o+1e-5);return Array.from({length:a},(u,h)=>(t[h]-r)/d*e[h]+n[h])}function gt(t,e){let n=t.slice();for(let a=0;a<t.length;a+=2){let r=e*1e4**(-a/t.length),[o,d]=[Math.cos(r),Math.sin(r)];n[a]=t[a]*o-t[a+1]*d,n[a+1]=t[a]*d+t[a+1]*o}return n}var Xt=["Input","Q, K, V","Scores","Scaled","Weights","Output"],Ut=["one row of numbers for each token.","three views of every token: what it looks for, offers and passes on.","every query against every key.","the scores, made smaller so that their spread does not grow with the width.","each row becomes shares that sum to one.","each row is a weighted mean of the values."],at={X:"X",Wq:"W_q",Wk:"W_k",Wv:"W_v"},Dt=["X","Q","S","scaled","A","O"],Vt={X:"X",Wq:"W_q",Wk:"W_k",Wv:"W_v",Q:"Q = X W_q",K:"K = X W_k",V:"V = X W_v",S:"scores = Q Kᵀ",scaled:"scaled scores",A:"weights",O:"output = weights · V"},ht={Wq:"query",Q:"query",Wk:"key",K:"key",Wv:"value",V:"value",O:"output"},st=1e6,bt=Z({name:"calculator",title:"Attention calculator",keys:["X","W_q","W_k","W_v","tokens","stage","focus","scale","causal"],setup({model:t,body:e,say:n,set:a}){let r=[],o,d="",u=s=>a({stage:Math.min(Math.max(s,1),6),focus:[0,0]}),h=J({label:"Stage",part:"stages",value:String(t.get("stage")),options:Xt.map((s,i)=>({value:String(i+1),text:`${i+1} ${s}`})),onChange:s=>u(Number(s))}),y=c("button",{type:"button","data-part":"previous",on:{click:()=>u(t.get("stage")-1)}},"← Back"),M=c("button",{type:"button","data-part":"next",on:{click:()=>u(t.get("stage")+1)}},"Next →"),_=c("button",{type:"button","data-part":"undo",on:{click:T}},"Undo"),j=c("input",{type:"checkbox","data-part":"causal",on:{change:()=>F({causal:j.checked})}}),z=c("p",{class:"attnlab-formula","data-part":"formula","aria-live":"polite"}),C=c("div",{class:"attnlab-mats"}),L=c("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Weights and output"});e.append(h,c("div",{class:"attnlab-row"},y,M,_,c("label",{style:"display: inline-flex; gap: .4rem; align-items: center; min-height: 32px"},j,"hide later tokens")),C,z,c("details",{open:!0},c("summary",{},"Weights and output as a table"),L));function T(){let s=r.pop();s?a(s):n("There is nothing to undo.")}function F(s){r.push(Object.fromEntries(Object.keys(s).map(i=>[i,structuredClone(t.get(i))]))),a(s)}function I(){let[s,i,l,g]=Object.values(at).map(k=>Bt(k,t.get(k)));for(let[k,v]of[["W_q",i],["W_k",l],["W_v",g]])if(v.length!==s[0].length)throw new Error(`${k} must have as many rows as X has columns (${s[0].length}), it has ${v.length}.`);if(i[0].length!==l[0].length)throw new Error(`W_q and W_k must have as many columns as each other, they have ${i[0].length} and ${l[0].length}.`);return o=dt({x:s,wq:i,wk:l,wv:g,scale:t.get("scale"),causal:!!t.get("causal")}),{X:s,Wq:i,Wk:l,Wv:g,Q:o.q,K:o.k,V:o.v,S:o.scores,scaled:o.scaled,A:o.weights,O:o.output}}function U(){let s=I(),i=Number(t.get("stage")),l=t.get("tokens");if(l.length!==s.X.length)throw new Error(`tokens must name the ${s.X.length} rows of X, it names ${l.length}.`);P(h,String(i)),y.disabled=i<=1,M.disabled=i>=6,j.checked=!!t.get("causal");let g=[["X"],["X","Wq","Wk","Wv","Q","K","V"],["Q","K","S"],["S","scaled"],["scaled","A"],["A","V","O"]][i-1],k=Dt[i-1],v=q(s,k),m=JSON.stringify([i,l,g.map(E=>[s[E].length,s[E][0].length])]);m!==d&&(d=m,C.replaceChildren(...g.map(E=>O(E,s[E],l))));let $=b(v);for(let E of g)N(E,s[E],v,$);let A=x(s,v,l);z.textContent=A,p(s,l),n(`Stage ${i} of 6: ${Ut[i-1]}`)}function q(s,i){let l=t.get("focus"),g=l.length>2&&s[l[2]]?l[2]:i;return{name:g,row:Math.min(Number(l[0])||0,s[g].length-1),column:Math.min(Number(l[1])||0,s[g][0].length-1)}}function O(s,i,l){let g=!s.startsWith("W"),k=["S","scaled","A"].includes(s),v=i.map(($,A)=>c("tr",{},c("th",{scope:"row"},g?l[A]:String(A+1)),...$.map((E,R)=>{let B={"data-row":A,"data-column":R,"aria-label":`${s} row ${A+1} column ${R+1}`},H=s in at?D(s,A,R,B):Q(s,A,R,B);return c("td",{class:"attnlab-cell"},H)}))),m=i[0].map(($,A)=>c("th",{scope:"col"},k?l[A]:String(A+1)));return c("div",{class:"attnlab-scroll"},c("table",{"data-part":`matrix-${s}`,on:{keydown:f}},c("caption",{class:ht[s]?`is-${ht[s]}`:""},Vt[s]+(s==="scaled"?` = scores × ${W(o.factor,3)}`:"")),c("thead",{},c("tr",{},c("td",{style:"border: 0"}),...m)),c("tbody",{},...v)))}function D(s,i,l,g){let k=c("input",{...g,type:"text",inputmode:"decimal"}),v=at[s];return k.addEventListener("focus",()=>a({focus:[i,l,s]})),k.addEventListener("change",()=>{let m=mt(k.value);if(k.setAttribute("aria-invalid",String(m===null)),m===null){n(`“${k.value}” is not a number from −${st} to ${st}. ${v} row ${i+1}, column ${l+1} stays ${W(t.get(v)[i][l])}.`);return}let $=structuredClone(t.get(v));$[i][l]=m,F({[v]:$})}),k}function Q(s,i,l,g){return c("button",{...g,type:"button",on:{click:()=>a({focus:[i,l,s]})}})}function f(s){let i=s.target,l={ArrowRight:[0,1],ArrowLeft:[0,-1],ArrowDown:[1,0],ArrowUp:[-1,0]}[s.key];if(s.key==="Enter"&&i.dispatchEvent(new Event("change")),!l||i instanceof HTMLInputElement&&l[1]&&i.selectionStart!==i.selectionEnd)return;let g=i.closest("table")?.querySelector(`[data-row="${Number(i.dataset.row)+l[0]}"][data-column="${Number(i.dataset.column)+l[1]}"]`);g instanceof HTMLElement&&(s.preventDefault(),g.focus(),g instanceof HTMLButtonElement&&g.click())}function N(s,i,l,g){for(let k of C.querySelectorAll(`[data-part="matrix-${s}"] [data-row]`)){let v=k,[m,$]=[Number(v.dataset.row),Number(v.dataset.column)],A=i[m][$];v.tagName!=="INPUT"?(v.textContent=W(A,s==="A"?3:2),v.setAttribute("aria-label",`${v.textContent}, ${s} row ${m+1} column ${$+1}`)):(document.activeElement!==v||mt(v.value)!==null)&&(v.value=String(A));let E=v.parentElement;E.classList.toggle("is-focus",l.name===s&&l.row===m&&l.column===$),E.classList.toggle("is-source",g(s,m,$)),s==="A"&&nt(E,A)}}function p(s,i){let l=["token",...i.map(g=>`takes of ${g}`),...s.O[0].map((g,k)=>`output ${k+1}`)];L.replaceChildren(c("table",{"data-part":"numbers"},c("thead",{},c("tr",{},...l.map(g=>c("th",{scope:"col"},g)))),c("tbody",{},...i.map((g,k)=>c("tr",{},c("th",{scope:"row"},g),...[...s.A[k],...s.O[k]].map(v=>c("td",{},v.toFixed(4))))))))}function b({name:s,row:i,column:l}){let g={Q:["X","Wq"],K:["X","Wk"],V:["X","Wv"],S:["Q","K"],scaled:["S"],A:["scaled"],O:["A","V"]},[k,v]=g[s]??[];return(m,$,A)=>s==="scaled"?m==="S"&&$===i&&A===l:s==="S"?m==="Q"&&$===i||m==="K"&&$===l:m===k?$===i:m===v&&A===l}function x(s,{name:i,row:l,column:g},k){let v=s[i][l][g],m=(E,R)=>E.map((B,H)=>`${W(B)} × ${B===E[H]&&R[H]<0?`(${W(R[H])})`:W(R[H])}`).join(" + "),$=(E,R)=>E.map(B=>B[R]),A=`[${l+1}, ${g+1}]`;if(i in at){let E=i==="X"?`the vector of “${k[l]}”`:`what input ${l+1} adds to entry ${g+1}`;return`${at[i]}${A} = ${W(v)}: ${E}. Type to change it.`}if(i==="Q"||i==="K"||i==="V")return`${i}${A} = ${m(s.X[l],$(s[`W${i.toLowerCase()}`],g))} = ${W(v)}`;if(i==="S")return`score${A}: query of “${k[l]}” · key of “${k[g]}” = ${m(s.Q[l],s.K[g])} = ${W(v)}`;if(i==="scaled"){if(v===-1/0)return`scaled${A} = −∞: “${k[g]}” comes later and is hidden.`;let E=t.get("scale")===null||t.get("scale")===void 0?`/ √${s.Q[0].length}`:`× ${W(o.factor,3)}`;return`scaled${A} = ${W(s.S[l][g])} ${E} = ${W(v)}`}if(i==="A"){let E=s.scaled[l].map(R=>R===-1/0?"0":`e^${W(R)}`);return`weight${A} = ${E[g]} / (${E.join(" + ")}) = ${W(v,3)}: “${k[l]}” takes ${W(100*v,1)} % of “${k[g]}”`}return`output${A} = ${m(s.A[l],$(s.V,g))} = ${W(v)}`}function S(){let s=l=>`torch.tensor(${JSON.stringify(t.get(l))}, dtype=torch.float64)`,i=t.get("scale");return`import torch

from attnlab import attention

x = ${s("X")}  # one row a token: ${t.get("tokens").join(", ")}
w_q = ${s("W_q")}
w_k = ${s("W_k")}
w_v = ${s("W_v")}
output, weights = attention(
    x @ w_q, x @ w_k, x @ w_v, scale=${i??"None"}, is_causal=${t.get("causal")?"True":"False"}, need_weights=True
)
print(weights)
print(output)
`}function w(){let{A:s}=I(),i=t.get("tokens"),l=A=>A.replace(/[&<>"]/g,E=>`&#${E.charCodeAt(0)};`),g=s.flatMap((A,E)=>A.map((R,B)=>`<rect x="${80+B*64}" y="${36+E*40}" width="64" height="40" fill="#0069a8" fill-opacity="${(.52*R).toFixed(3)}" stroke="#d5dae0"/><text x="${112+B*64}" y="${61+E*40}">${W(R,3)}</text>`)),k=i.map((A,E)=>`<text x="40" y="${61+E*40}">${l(A)}</text>`),v=i.map((A,E)=>`<text x="${112+E*64}" y="26">${l(A)}</text>`),[m,$]=[90+64*i.length,46+40*i.length];return`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${m} ${$}" width="${m}" height="${$}" font-family="sans-serif" font-size="15" fill="#1b1f24" text-anchor="middle">${[...g,...k,...v].join("")}</svg>`}return{update:U,pytorch:S,svg:w}}});function mt(t){let e=t.trim().replace("−","-").replace(",","."),n=e===""?NaN:Number(e);return Number.isFinite(n)&&Math.abs(n)<=st?n:null}function Bt(t,e){if(!(Array.isArray(e)&&e.length>0&&e.every(a=>Array.isArray(a)&&a.length>0&&a.length===e[0].length&&a.every(Number.isFinite))))throw new Error(`${t} must be rows of numbers, all of one length.`);return e}var yt=(t,e,n)=>e.map(([a,r])=>n==="dot"?t[0]*a+t[1]*r:-((t[0]-a)**2+(t[1]-r)**2)/2);function vt(t,e,n){let a=t.map(r=>r/n);if(e==="softmax")return G(a);if(e==="sparsemax")return Qt(a);if(e==="relu")return a.map(r=>Math.max(r,0)/a.length);if(e==="none")return a;throw new Error(`weights must be softmax, sparsemax, relu or none, got “${e}”.`)}function Qt(t){let e=t.slice().sort((r,o)=>o-r),[n,a]=[0,0];return e.forEach((r,o)=>{n+=r,1+(o+1)*r>n&&(a=(n-1)/(o+1))}),t.map(r=>Math.max(r-a,0))}var xt=(t,e)=>{let n=a=>t.reduce((r,o,d)=>r+o*e[d][a],0);return[n(0),n(1)]};function wt(t){let e=t.slice().sort((a,r)=>a[0]-r[0]||a[1]-r[1]),n=a=>{let r=[];for(let o of a){for(;r.length>1&&kt(r[r.length-2],r[r.length-1],o)<=0;)r.pop();r.push(o)}return r.slice(0,-1)};return e.length<3?e:[...n(e),...n(e.reverse())]}function $t(t,e){let n=e.length;return n<3?!0:e.every((a,r)=>kt(a,e[(r+1)%n],t)>=-1e-9)}var kt=(t,e,n)=>(e[0]-t[0])*(n[1]-t[1])-(e[1]-t[1])*(n[0]-t[0]);var V=3,K=360,At=.1,Y=t=>(t+V)/(2*V)*K,tt=t=>(V-t)/(2*V)*K,qt=t=>Math.round(Math.min(Math.max(t,-V),V)*100)/100,St=Z({name:"lookup",title:"Soft lookup",keys:["query","values","names","score","weights","temperature"],setup({model:t,body:e,say:n,set:a,signal:r}){let o=J({label:"Score",part:"score",value:t.get("score"),options:[{value:"dot",text:"dot product"},{value:"distance",text:"closeness"}],onChange:f=>a({score:f})}),d=J({label:"Weights",part:"weigh",value:t.get("weights"),options:["softmax","sparsemax","relu","none"].map(f=>({value:f,text:f})),onChange:f=>a({weights:f})}),u=c("input",{type:"range",min:-2,max:2,step:.05,"data-part":"temperature","aria-label":"Temperature",style:"flex: 1 1 8rem; min-height: 28px; accent-color: var(--fig-query)",on:{input:()=>a({temperature:Math.round(10**Number(u.value)*1e3)/1e3})}}),h=c("span",{class:"attnlab-label",style:"min-width: 3.5rem"}),y=X("svg",{viewBox:`0 0 ${K} ${K}`,role:"group","aria-label":"The plane of keys and values; each point can be dragged, or moved with the arrow keys","data-part":"plane",style:"width: 100%; max-width: 26rem; height: auto; touch-action: none; display: block; margin: .8rem auto 0"}),M=c("tbody");e.append(c("div",{class:"attnlab-row"},c("span",{class:"attnlab-label"},"Score by"),o),c("div",{class:"attnlab-row"},c("span",{class:"attnlab-label"},"Weights by"),d),c("div",{class:"attnlab-row"},c("span",{class:"attnlab-label"},"Temperature"),u,h),y,c("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Table of numbers",style:"margin-top: .8rem"},c("table",{"data-part":"numbers"},c("thead",{},c("tr",{},...["point","x","y","score","weight"].map(f=>c("th",{scope:"col"},f)))),M)));let _=[],j=X("polygon",{fill:"var(--fig-value)","fill-opacity":.12,stroke:"var(--fig-value)","stroke-opacity":.5}),z=X("g",{}),C=X("circle",{r:9,fill:"var(--fig-output)","data-part":"output","pointer-events":"none"}),L=X("text",{fill:"var(--fig-output)","font-size":14,"text-anchor":"middle","pointer-events":"none"},"output"),T=f=>f==="query"?t.get("query"):t.get("values")[f];function F(f,N,p){let b=[qt(N),qt(p)];a(f==="query"?{query:b}:{values:t.get("values").map((x,S)=>S===f?b:x)})}function I(f,N){let p=f==="query"?"query":"value",b=f==="query"?X("path",{d:"M 0 -11 L 11 0 L 0 11 L -11 0 Z",fill:`var(--fig-${p})`}):X("circle",{r:9,fill:`var(--fig-${p})`}),x=X("g",{tabindex:0,role:"slider","data-part":"handle","data-which":f,"aria-valuemin":-V,"aria-valuemax":V,style:"cursor: grab"},X("circle",{r:20,fill:"transparent"}),b,X("text",{y:-15,"text-anchor":"middle","font-size":14,fill:"var(--fig-ink)"},N));return x.addEventListener("pointerdown",S=>{let w=S;x.setPointerCapture(w.pointerId);let s=l=>{let g=y.getBoundingClientRect();F(f,(l.clientX-g.left)/g.width*2*V-V,V-(l.clientY-g.top)/g.height*2*V)};x.addEventListener("pointermove",s,{signal:r});let i=()=>x.removeEventListener("pointermove",s);x.addEventListener("pointerup",i,{once:!0}),x.addEventListener("pointercancel",i,{once:!0})}),x.addEventListener("keydown",S=>{let w=S.key,s={ArrowRight:[1,0],ArrowLeft:[-1,0],ArrowUp:[0,1],ArrowDown:[0,-1]}[w];if(!s)return;S.preventDefault();let[i,l]=T(f);F(f,i+At*s[0],l+At*s[1])}),x}function U(){_=[...t.get("names").map((b,x)=>I(x,b)),I("query","query")];let N=X("path",{d:`M 0 ${K/2} H ${K} M ${K/2} 0 V ${K}`,stroke:"var(--fig-line)"}),p=X("rect",{x:.5,y:.5,width:K-1,height:K-1,fill:"none",stroke:"var(--fig-line)",rx:8});y.replaceChildren(p,N,j,z,..._,C,L)}function q(){let f=t.get("values"),N=t.get("names"),p=i=>Array.isArray(i)&&i.length===2&&i.every(Number.isFinite);if(!Array.isArray(f)||!f.length||!f.every(p)||f.length!==N.length)throw new Error("values must be points (x, y), one for each name.");if(!p(t.get("query")))throw new Error("query must be a point (x, y).");let b=Number(t.get("temperature"));if(!(b>0))throw new Error(`temperature must be positive, got ${t.get("temperature")}.`);let x=t.get("query"),S=yt(x,f,t.get("score")),w=vt(S,t.get("weights"),b),s=xt(w,f);return{query:x,values:f,names:N,temperature:b,scores:S,weights:w,out:s,corners:wt(f)}}function O(){let{query:f,values:N,names:p,temperature:b,scores:x,weights:S,out:w,corners:s}=q();_.length!==p.length+1&&U(),P(o,t.get("score")),P(d,t.get("weights")),u.value=String(Math.log10(b)),u.setAttribute("aria-valuetext",W(b,3)),h.textContent=W(b,b<1?3:2),_.forEach((m,$)=>{let A=$<p.length?$:"query",[E,R]=T(A);m.setAttribute("transform",`translate(${Y(E)} ${tt(R)})`);let B=A==="query"?"query":`key and value ${p[$]}`;m.setAttribute("aria-label",B),m.setAttribute("aria-valuenow",String(E)),m.setAttribute("aria-valuetext",`x ${W(E)}, y ${W(R)}`)}),j.setAttribute("points",s.map(([m,$])=>`${Y(m)},${tt($)}`).join(" ")),z.replaceChildren(...N.map(([m,$],A)=>X("line",{x1:Y(m),y1:tt($),x2:Y(f[0]),y2:tt(f[1]),stroke:S[A]<0?"var(--fig-key)":"var(--fig-query)","stroke-width":(.5+8*Math.min(Math.abs(S[A]),1)).toFixed(2),"stroke-opacity":Math.abs(S[A])<1e-9?.08:.45})));let i=w.map(m=>Math.min(Math.max(m,-V),V));C.setAttribute("cx",String(Y(i[0]))),C.setAttribute("cy",String(tt(i[1]))),L.setAttribute("x",String(Y(i[0]))),L.setAttribute("y",String(tt(i[1])+24));let l=(m,$,A)=>c("tr",{},c("th",{scope:"row"},m),...[$[0].toFixed(2),$[1].toFixed(2),...A].map(E=>c("td",{},E)));M.replaceChildren(l("query",f,["",""]),...N.map((m,$)=>l(p[$],m,[x[$].toFixed(4),S[$].toFixed(4)])),c("tr",{},c("th",{scope:"row"},"output"),...[w[0].toFixed(4),w[1].toFixed(4),"",S.reduce((m,$)=>m+$,0).toFixed(4)].map(m=>c("td",{},m))));let g=S.reduce((m,$)=>m+$,0),k=$t(w,s)?"inside the hull of the values":"outside the hull of the values",v=S.indexOf(Math.max(...S));n(`The weights sum to ${W(g)}; the largest is ${W(S[v])}, of ${p[v]}. The output is ${k}.`)}function D(){let f=x=>`torch.tensor(${JSON.stringify(t.get(x))}, dtype=torch.float64)`,N=t.get("temperature"),p=t.get("score")==="dot"?"values @ query":"-(values - query).square().sum(-1) / 2",b={softmax:"scores.softmax(z)",sparsemax:"scores.sparsemax(z)",relu:"scores.relu(z)",none:"z"};return`import torch

from attnlab import scores

query = ${f("query")}
values = ${f("values")}  # the keys too: ${t.get("names").join(", ")}
z = (${p}) / ${N}
weights = ${b[t.get("weights")]}
print(weights)
print(weights @ values)
`}return{update:O,pytorch:D,svg:()=>{let f=y.cloneNode(!0);return f.setAttribute("xmlns","http://www.w3.org/2000/svg"),Object.entries({query:"#0069a8",key:"#b04a00",value:"#00795a",output:"#a0307a",ink:"#1b1f24",line:"#d5dae0"}).reduce((p,[b,x])=>p.replaceAll(`var(--fig-${b})`,x),f.outerHTML)}}}});var _t=["n't","'s","'m","'re","'ve","'ll","'d"],Et=new Set(`mr. mrs. ms. dr. prof. st. jr. sr. vs. etc. inc. co. corp. ltd. gen. rep. sen. gov. lt. col. no. ph.d. fig.
al. jan. feb. mar. apr. jun. jul. aug. sep. sept. oct. nov. dec. ave. blvd. rd. approx. dept. est.`.split(/\s+/)),Kt=/^(?:(?:[A-Za-z][A-Za-z0-9+.-]*:\/\/|[Ww][Ww][Ww]\.)[^ ]|[^@]+@[^@.]+\.[^@])/u,Pt=/^(?:[A-Za-z]\.)+[A-Za-z]?\.?$/,Jt=t=>/^[\p{Z}\p{Cc}]$/u.test(t),et=t=>/^[\p{L}\p{M}\p{N}_]$/u.test(t),it=t=>/^\p{N}$/u.test(t),Ht=t=>/^[\p{M}\p{Cf}\p{Sk}]$/u.test(t)&&t.codePointAt(0)>127,Zt=t=>t.replaceAll("’","'").toLowerCase();function ct(t){let e=Array.from(t,r=>/^[\ud800-\udfff]$/.test(r)?"�":r),n=[],a="";for(let r of[...e," "])Jt(r)?a&&(n.push(...Yt(a)),a=""):a+=r;return n}function Lt(t){let e=Array.from(t.toLowerCase()),n="",a="",r=0;for(let o of t){let d=Gt(o);r=d===a?r+1:1,a=d,r<=2&&(n+=d)}return[`w=${e.join("")}`,...[1,2,3].map(o=>`p${o}=${e.slice(0,o).join("")}`),...[1,2,3,4].map(o=>`s${o}=${e.slice(-o).join("")}`),`shape=${Array.from(n).slice(0,8).join("")}`]}function Wt(t,e,n){let a=(2166136261^e)>>>0;for(let r of new TextEncoder().encode(t))a=Math.imul(a^r,16777619)>>>0;return a%n}function Gt(t){return/^[\p{Lu}\p{Lt}]$/u.test(t)?"X":/^\p{L}$/u.test(t)?"x":it(t)?"d":t}function Yt(t){let[e,...n]=te(t),[a,r]=n,o=a+r;return Et.has(o.toLowerCase())||Pt.test(o)&&o.slice(0,-1).includes(".")?[a,r]=[o,""]:r.startsWith(".")&&Et.has(`${a}.`.toLowerCase())&&([a,r]=[`${a}.`,r.slice(1)]),[...Mt(e),...Kt.test(a)?[a]:ee(a),...Mt(r)]}function te(t){if(_t.includes(Zt(t)))return["",t,""];let e=Array.from(t),n=e.findIndex(et);if(n<0)return[t,"",""];let a=e.findLastIndex(et)+1;return[e.slice(0,n),e.slice(n,a),e.slice(a)].map(r=>r.join(""))}function Mt(t){let e=[];for(let n of t){let a=e.length?Array.from(e[e.length-1]).at(-1):"";a&&(n===a||Ht(n)||a==="‍")?e[e.length-1]+=n:e.push(n)}return e}function ee(t){if(!t)return[];let e=Array.from(t),n=[],a=0;for(let o=1;o<e.length-1;o++)!et(e[o])&&!ae(e,o)&&(n.push(e.slice(a,o).join(""),e[o]),a=o+1);n.push(e.slice(a).join(""));let r=[];for(let o of n.filter(Boolean)){let d=Array.from(o),u=r.length?Array.from(r[r.length-1]).at(-1):"";d.length===1&&!et(o)&&o===u?r[r.length-1]+=o:r.push(...ne(o))}return r}function ae(t,e){let[n,a,r]=[t[e-1],t[e],t[e+1]];return!et(n)||!et(r)?!1:".,:".includes(a)?it(n)&&it(r)||a===".":"'’&".includes(a)}function ne(t){let e=Array.from(t),n=Array.from(t.toLowerCase().replaceAll("’","'"));if(n.length!==e.length)return[t];let a=n.join("");if(a==="cannot")return[t.slice(0,3),t.slice(3)];for(let r of _t)if(a.endsWith(r)&&n.length>r.length){let o=e.length-r.length;return[e.slice(0,o).join(""),e.slice(o).join("")]}return[t]}function lt(t){let e=new DataView(t.buffer,t.byteOffset,t.byteLength),n=Number(e.getBigUint64(0,!0)),a=JSON.parse(new TextDecoder().decode(t.subarray(8,8+n))),r={};for(let[d,{dtype:u,shape:h,data_offsets:y}]of Object.entries(a)){if(d==="__metadata__")continue;let[M,_]=y.map(C=>C+8+n),j=new Uint8Array(t.subarray(M,_)),z=u==="F32"?new Float32Array(j.buffer):u==="I8"?new Int8Array(j.buffer):j;r[d]={shape:h,dtype:u,data:Float64Array.from(z)}}let o={};for(let[d,u]of Object.entries(r))if(!d.endsWith(".scale"))if(!d.endsWith(".q"))o[d]=u;else{let h=d.slice(0,-2),y=r[`${h}.scale`].data;o[h]=u.dtype==="U8"?re(u,y):oe(u,y)}return{card:JSON.parse(a.__metadata__.card),tensors:o}}function re({shape:[t,e],data:n},a){let r=2*e,o=new Float64Array(t*r);for(let d=0;d<t;d++)for(let u=0;u<e;u++){let h=n[d*e+u];o[d*r+u]=Math.fround(((h&15)-8)*a[u]),o[d*r+e+u]=Math.fround(((h>>4)-8)*a[e+u])}return{shape:[t,r],data:o}}function oe({shape:t,data:e},n){return{shape:t,data:e.map((a,r)=>Math.fround(a*n[Math.floor(r/t[1])]))}}function Ot({card:t,tensors:e},n){let{n_buckets:a,d_model:r,n_heads:o,n_layers:d,seeds:u}=t.form,h=e["table.weight"].data,y=n.map(L=>{let T=new Array(r).fill(0);for(let F of Lt(L))for(let I of u){let U=Wt(F,I,a)*r;for(let q=0;q<r;q++)T[q]+=h[U+q]}return T}),M=(L,T)=>{let{shape:F,data:I}=e[`${T}.weight`],U=Array.from(e[`${T}.bias`].data);for(let q=0;q<F[0];q++)for(let O=0;O<F[1];O++)U[q]+=I[q*F[1]+O]*L[O];return U},_=(L,T)=>ft(L,e[`${T}.weight`].data,e[`${T}.bias`].data),j=[];for(let L=0;L<d;L++){let T=`layers.${L}`,F=y.map(f=>_(f,`${T}.norm`)),[I,U,q]=["q","k","v"].map(f=>F.map(N=>M(N,`${T}.attention.${f}_proj`))),O=I.length?I[0].length/o:0,D=[],Q=n.map(()=>[]);for(let f=0;f<o;f++){let N=x=>x.slice(f*O,(f+1)*O),p=[I,U].map(x=>x.map((S,w)=>gt(N(S),w))),b=p[0].map(x=>G(p[1].map(S=>x.reduce((w,s,i)=>w+s*S[i],0)/Math.sqrt(O))));D.push(b),b.forEach((x,S)=>{for(let w=0;w<O;w++)Q[S].push(x.reduce((s,i,l)=>s+i*q[l][f*O+w],0))})}j.push(D),y=y.map((f,N)=>Ct(f,M(Q[N],`${T}.attention.out_proj`))),y=y.map(f=>{let N=M(_(f,`${T}.norm2`),`${T}.up`).map(p=>Math.max(p,0));return Ct(f,M(N,`${T}.down`))})}let z=y.map(L=>G(M(_(L,"norm"),"out"))),C=z.map(L=>t.tags[L.indexOf(Math.max(...L))]);return{tokens:n,tags:C,probabilities:z,weights:j}}var Ct=(t,e)=>t.map((n,a)=>n+e[a]);var rt=128,Tt=["I saw a saw","What do you do?","There were many hotels there.","Can you open the can?"];function ut(t,e){let n=t.flat(),[a,r]=e.split(".").map(Number),o=t[a-1]?.[r-1];if(o)return o;let d=n[0]?.length??0;return Array.from({length:d},(u,h)=>Array.from({length:d},(y,M)=>n.reduce((_,j)=>_+j[h][M],0)/n.length))}async function se(t,e){let n=t.get("model");if(n?.byteLength)return lt(new Uint8Array(n.buffer??n,n.byteOffset??0,n.byteLength));let a=()=>globalThis.attnlabModels?.tagger;return a()||await new Promise((r,o)=>{let d=document.createElement("script");d.src=new URL("models/tagger-model.js",e??document.baseURI).href,d.onload=r,d.onerror=()=>o(new Error("its weights (models/tagger-model.js) did not load. Reload the page.")),document.head.append(d)}),lt(Uint8Array.from(atob(a()),r=>r.charCodeAt(0)))}var Nt=Z({name:"tag",title:"Tag a sentence",keys:["sentence","word","head"],async setup({model:t,body:e,say:n,set:a,signal:r,place:o}){let d=await se(t,o.base),{card:u}=d,h,y="",M=0,_=c("input",{type:"text","aria-label":"A sentence to tag","data-part":"sentence",autocomplete:"off",spellcheck:"false",dir:"auto",on:{input:()=>a({sentence:_.value,word:-1})}}),j=c("div",{class:"attnlab-row attnlab-examples"},c("span",{class:"attnlab-label"},"Try"));for(let p of Tt){let b=()=>a({sentence:p,word:p===Tt[0]?3:-1});j.append(c("button",{type:"button","data-part":"example",on:{click:b}},p))}let z=J({label:"Which attention head",part:"heads",value:t.get("head"),options:[{value:"mean",text:"all heads"},...Array.from({length:u.form.n_layers*u.form.n_heads},(p,b)=>{let[x,S]=[Math.floor(b/u.form.n_heads)+1,b%u.form.n_heads+1],w=u.form.n_layers>1?`${x}.${S}`:String(S);return{value:`${x}.${S}`,text:w}})],onChange:p=>a({head:p})}),C=c("div",{class:"attnlab-tokens",role:"radiogroup","aria-label":"The words, each with its tag",on:{keydown:q}}),L=c("p",{"data-part":"alternatives"}),T=c("tbody"),F=c("table",{"data-part":"numbers"},c("caption",{},"Every number"),c("thead",{},c("tr",{},...["word","tag","probability","weight"].map(p=>c("th",{scope:"col"},p)))),T),I=u.form.n_layers>1?" (layer.head; layers look one after the other)":"";e.append(_,j,c("div",{class:"attnlab-row"},c("span",{class:"attnlab-label"},`Attention of${I}`),z),C,L,c("details",{},c("summary",{},"The numbers as a table"),c("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Table of numbers"},F)),c("p",{class:"attnlab-note","data-part":"card"},`Trained on ${u.data} (${u.licence}); ${u.accuracy.test} % of its test words come out right. It knows no more English than that.`));let U=new ResizeObserver(()=>N());U.observe(C),r.addEventListener("abort",()=>U.disconnect());function q(p){let b={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[p.key],x=h.tokens.length;!b||!x||(p.preventDefault(),a({word:(Math.max(t.get("word"),0)+b+x)%x}),C.querySelector('[tabindex="0"]')?.focus())}function O(){let p=String(t.get("sentence")??"");if(h&&p===y)return;y=p;let b=ct(p);M=Math.max(b.length-rt,0),h=Ot(d,b.slice(0,rt))}let D=()=>{let p=Number(t.get("word")??-1);return p>=0&&p<h.tokens.length?p:-1};function Q(){O(),_.value!==y&&(_.value=y),P(z,t.get("head"));let p=D(),b=p<0?[]:ut(h.weights,t.get("head"))[p],x=C.contains(document.activeElement);C.replaceChildren(...h.tokens.map((S,w)=>{let s=Math.max(...h.probabilities[w]),i=c("button",{type:"button",class:"attnlab-token",role:"radio","aria-checked":w===p?"true":"false",tabindex:w===Math.max(p,0)?0:-1,"data-part":"token",on:{click:()=>a({word:w})}},c("b",{dir:"auto"},S),c("span",{},h.tags[w]),c("i",{},p<0?`${W(100*s,0)} %`:`gives ${W(100*b[w],0)} %`));return p>=0&&nt(i,b[w]),i})),x&&C.querySelector('[tabindex="0"]')?.focus(),T.replaceChildren(...h.tokens.map((S,w)=>c("tr",{},c("th",{scope:"row",dir:"auto"},S),c("td",{},h.tags[w]),c("td",{},Math.max(...h.probabilities[w]).toFixed(4)),c("td",{},p<0?"–":b[w].toFixed(4))))),f(p,b),N()}function f(p,b){if(!h.tokens.length){L.textContent="",n("Type a sentence: there is nothing to tag yet.");return}let x=M?` Only the first ${rt} of ${rt+M} words are shown.`:"";if(p<0){L.textContent="Pick a word to see where the tagger looked.",n(h.tokens.map((i,l)=>`${i} ${h.tags[l]}`).join(", ")+"."+x);return}let S=h.probabilities[p].map((i,l)=>({p:i,tag:u.tags[l]})).sort((i,l)=>l.p-i.p).slice(0,3);L.textContent=S.map(({p:i,tag:l})=>`${l} ${W(100*i,1)} %`).join(" · ");let w=b.indexOf(Math.max(...b)),s=w===p?"itself":`“${h.tokens[w]}” (word ${w+1})`;n(`“${h.tokens[p]}” (word ${p+1}) is ${h.tags[p]}. It takes most from ${s}: ${W(100*b[w],0)} %.${x}`)}function N(){C.querySelector("svg")?.remove();let p=D(),b=[...C.querySelectorAll(".attnlab-token")],x=b.length>1&&b.every(l=>l.offsetTop===b[0].offsetTop),S=p>=0&&x&&C.clientWidth>480;if(C.classList.toggle("has-arcs",S),!S)return;let w=ut(h.weights,t.get("head"))[p],s=X("svg",{class:"attnlab-arcs","aria-hidden":"true","data-part":"arcs"}),i=b.map(l=>l.offsetLeft+l.offsetWidth/2);b.forEach((l,g)=>{if(w[g]<.02)return;let[k,v]=[i[p],i[g]],m=g===p?26:Math.min(24+Math.abs(v-k)*.16,76),$=g===p?`M ${k-9} 82 C ${k-22} ${82-m*1.4}, ${k+22} ${82-m*1.4}, ${k+9} 82`:`M ${k} 82 C ${k} ${82-m}, ${v} ${82-m}, ${v} 82`;s.append(X("path",{d:$,fill:"none",stroke:"var(--fig-query)","stroke-width":(1+9*w[g]).toFixed(2),"stroke-opacity":(.25+.7*w[g]).toFixed(2),"stroke-linecap":"round"}))}),C.prepend(s)}return{update:Q,pytorch:()=>ie(y,D(),t.get("head")),svg:()=>ce(h,D(),t.get("head"))}}});function ie(t,e,n){let[a,r]=n.split(".").map(Number),o=n==="mean"?"tagged.weights.mean((0, 1))":`tagged.weights[${a-1}, ${r-1}]`,d=e<0?"":`weights = ${o}[${e}]  # how much word ${e} takes of each word
`;return`from attnlab.tagging import shipped

tagged = shipped.load().tag(${JSON.stringify(t)})
${d}for i, (token, tag) in enumerate(zip(tagged.tokens, tagged.tags)):
    print(token, tag, round(tagged.probabilities[i].max().item(), 4)${e<0?"":", round(weights[i].item(), 4)"})
`}function ce(t,e,n){let a=e<0?[]:ut(t.weights,n)[e],r=110,o=h=>h.replace(/[&<>"]/g,y=>`&#${y.charCodeAt(0)};`),d=t.tokens.map((h,y)=>{let M=10+y*r,_=a[y]??0;return`<rect x="${M}" y="10" width="${r-8}" height="76" rx="8" fill="#0069a8" fill-opacity="${(.52*_).toFixed(3)}" stroke="${y===e?"#0069a8":"#d5dae0"}" stroke-width="2"/><text x="${M+51}" y="36" font-size="18">${o(h)}</text><text x="${M+51}" y="57" font-size="13">${t.tags[y]}</text><text x="${M+51}" y="76" font-size="13">${e<0?"":`${W(100*_,0)} %`}</text>`}),u=12+t.tokens.length*r;return`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${u} 96" width="${u}" height="96" font-family="sans-serif" fill="#1b1f24" text-anchor="middle">${d.join("")}</svg>`}var le=Object.fromEntries([bt,St,Nt].map(t=>[t.name,t])),ue=document.currentScript,pe=new URL(".",ue?.src||document.baseURI).href;function de(t){let e=t.dataset.attnlab??"",n=le[e];if(!n||t.dataset.mounted)return;t.dataset.mounted="true";let a=[...document.querySelectorAll(`figure[data-attnlab="${e}"]`)].indexOf(t),r=a?`${e}-${a+1}`:e;t.id||=`figure-${r}`;let o=JSON.parse(t.dataset.settings??"{}"),d=new URLSearchParams(location.search).get(r);d&&Object.assign(o,fe(d,n.keys));let u=t.querySelector("figcaption"),h=document.createElement("div");t.replaceChildren(h,...u?[u]:[]);let y=M=>{let _=new URL(location.href);return _.searchParams.set(r,JSON.stringify(M)),_.hash=t.id,_.href};n.render({model:ge(o),el:h,place:{base:pe,link:y}})}function fe(t,e){try{let n=JSON.parse(t);return Object.fromEntries(Object.entries(n).filter(([a])=>e.includes(a)))}catch{return{}}}function ge(t){return{get:e=>t[e],set:(e,n)=>{t[e]=n},save_changes(){},on(){}}}var jt=()=>document.querySelectorAll("figure[data-attnlab]").forEach(t=>de(t));document.readyState==="loading"?document.addEventListener("DOMContentLoaded",jt):jt();})();
