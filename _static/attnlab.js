"use strict";(()=>{function i(t,e={},...n){let a=document.createElement(t);for(let[r,o]of Object.entries(e))if(r==="on")for(let[d,u]of Object.entries(o))a.addEventListener(d,u);else o===!0?a.setAttribute(r,""):o!=null&&o!==!1&&a.setAttribute(r,String(o));return a.append(...n.filter(r=>r!=null)),a}function U(t,e={},...n){let a=document.createElementNS("http://www.w3.org/2000/svg",t);for(let[r,o]of Object.entries(e))a.setAttribute(r,String(o));return a.append(...n),a}function O(t,e=2){if(t===-1/0)return"−∞";if(Math.abs(t)>=1e5)return t.toExponential(1).replace("-","−");let n=t.toFixed(e);return Number(n)===0?n.replace("-",""):n.replace("-","−")}function J({label:t,options:e,value:n,part:a,onChange:r}){let o=e.map(u=>i("button",{type:"button",role:"radio","aria-checked":u.value===n?"true":"false",tabindex:u.value===n?0:-1,"data-value":u.value,on:{click:()=>r(u.value)}},u.text)),d=i("div",{class:"attnlab-choices",role:"radiogroup","aria-label":t,"data-part":a});return d.append(...o),d.addEventListener("keydown",u=>{let g={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[u.key],v=o.findIndex(_=>_===u.target);if(!g||v<0)return;u.preventDefault();let M=o[(v+g+o.length)%o.length];K(d,M.dataset.value),M.focus(),r(M.dataset.value)}),d}function K(t,e){for(let n of t.querySelectorAll("button")){let a=n.dataset.value===e;n.setAttribute("aria-checked",String(a)),n.tabIndex=a?0:-1}}function rt(t,e,n="query"){let a=Math.round(52*Math.min(Math.max(e,0),1)*10)/10;t.style.backgroundColor=`color-mix(in srgb, var(--fig-${n}) ${a}%, transparent)`}var at=t=>t.replace(/[&<>"]/g,e=>`&#${e.charCodeAt(0)};`),Ft={query:"#0069a8",key:"#b04a00",value:"#00795a",output:"#a0307a",ink:"#1b1f24",line:"#d5dae0"};function pt(t){let e=t.cloneNode(!0);return e.setAttribute("xmlns","http://www.w3.org/2000/svg"),Object.entries(Ft).reduce((n,[a,r])=>n.replaceAll(`var(--fig-${a})`,r),e.outerHTML)}function ft(t,e,n){t.addEventListener("pointerdown",a=>{let r=new AbortController;t.setPointerCapture(a.pointerId),t.addEventListener("pointermove",o=>n(o),{signal:AbortSignal.any([e,r.signal])});for(let o of["pointerup","pointercancel"])t.addEventListener(o,()=>r.abort(),{once:!0})},{signal:e})}var gt=`/* The figures carry their own colours: in Lab and Colab there is no book theme around them. */
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
`;function Z(t){return{name:t.name,keys:t.keys,async render({model:e,el:n,signal:a,place:r={}}){let o=new AbortController;a?.addEventListener("abort",()=>o.abort()),Dt(n);let d=Object.fromEntries(t.keys.map($=>[$,structuredClone(e.get($))])),u=i("div",{class:"attnlab-body"}),g=i("p",{class:"attnlab-status",role:"status","data-part":"status"}),v=i("p",{class:"attnlab-error",role:"alert","data-part":"error",hidden:!0}),M=i("div",{class:"attnlab-bar",role:"group","aria-label":`${t.title}: actions`}),_=i("div",{class:"attnlab-root","data-lm-suppress-shortcuts":"true","data-figure":t.name},u,v,g,M);n.replaceChildren(_);let z,I=$=>{try{$(),v.hidden=!0}catch(T){console.warn("attnlab figure:",T),v.textContent=`This figure could not be drawn: ${T instanceof Error?T.message:T}`,v.hidden=!1}},C=()=>I(()=>z?.update()),L=$=>{for(let[T,V]of Object.entries($))e.set(T,V);e.save_changes(),C()},j=$=>{g.textContent!==$&&(g.textContent=$)};try{z=await t.setup({model:e,body:u,say:j,set:L,signal:o.signal,place:r})}catch($){return I(()=>{throw $}),()=>o.abort()}let X=()=>Object.fromEntries(t.keys.map($=>[$,e.get($)]));M.append(R("Reset","reset",()=>(L(structuredClone(d)),"Reset.")),r.link?R("Copy link","link",()=>D(r.link(X()))):"",R("Copy as PyTorch","pytorch",()=>D(z.pytorch())),R("Save SVG","svg",()=>Ut(z.svg(),`attnlab-${t.name}.svg`))),C();for(let $ of t.keys)e.on(`change:${$}`,C),o.signal.addEventListener("abort",()=>e.off?.(`change:${$}`,C));return()=>o.abort();function R($,T,V){let b=i("button",{type:"button","data-part":T},$);return b.addEventListener("click",async()=>{try{j(await V())}catch(q){j(`That did not work: ${q instanceof Error?q.message:q}`)}}),b}async function D($){_.querySelector(".attnlab-copied")?.remove();try{return await navigator.clipboard.writeText($),"Copied."}catch{let T=i("textarea",{class:"attnlab-copied",readonly:!0,rows:Math.min($.split(`
`).length,12),"aria-label":"Text to copy","data-part":"copied"});return T.value=$,M.after(T),T.focus(),T.select(),"The text is selected below: copy it with your keyboard."}}}}}function Ut(t,e){let n=URL.createObjectURL(new Blob([t],{type:"image/svg+xml"}));return i("a",{href:n,download:e}).click(),setTimeout(()=>URL.revokeObjectURL(n),1e4),`Saved ${e}.`}function Dt(t){t.classList.add("attnlab-figure");let e=t.getRootNode(),n=e instanceof Document?e.head:e instanceof ShadowRoot?e:t;if(n.querySelector?.("style[data-attnlab]"))return;let a=i("style",{"data-attnlab":!0});a.textContent=gt,n.append(a)}var st=(t,e)=>t.map(n=>e[0].map((a,r)=>n.reduce((o,d,u)=>o+d*e[u][r],0))),Vt=t=>t[0].map((e,n)=>t.map(a=>a[n]));function G(t){let e=Math.max(...t);if(e===-1/0)return t.map(()=>0);let n=t.map(r=>Math.exp(r-e)),a=n.reduce((r,o)=>r+o,0);return n.map(r=>r/a)}function ht({x:t,wq:e,wk:n,wv:a,scale:r=null,causal:o=!1}){let[d,u,g]=[e,n,a].map(I=>st(t,I)),v=st(d,Vt(u)),M=r??1/Math.sqrt(d[0].length),_=v.map((I,C)=>I.map((L,j)=>o&&j>C?-1/0:L*M)),z=_.map(G);return{q:d,k:u,v:g,scores:v,factor:M,scaled:_,weights:z,output:st(z,g)}}function mt(t,e,n){let a=t.length,r=0;for(let u=0;u<a;u++)r+=t[u]/a;let o=0;for(let u=0;u<a;u++)o+=(t[u]-r)**2/a;let d=Math.sqrt(o+1e-5);return Array.from({length:a},(u,g)=>(t[g]-r)/d*e[g]+n[g])}function bt(t,e){let n=t.slice();for(let a=0;a<t.length;a+=2){let r=e*1e4**(-a/t.length),[o,d]=[Math.cos(r),Math.sin(r)];n[a]=t[a]*o-t[a+1]*d,n[a+1]=t[a]*d+t[a+1]*o}return n}var Bt=["Input","Q, K, V","Scores","Scaled","Weights","Output"],Qt=["one row of numbers for each token.","three views of every token: what it looks for, offers and passes on.","every query against every key.","the scores, made smaller so that their spread does not grow with the width.","each row becomes shares that sum to one.","each row is a weighted mean of the values."],nt={X:"X",Wq:"W_q",Wk:"W_k",Wv:"W_v"},Kt=["X","Q","S","scaled","A","O"],Pt={X:"X",Wq:"W_q",Wk:"W_k",Wv:"W_v",Q:"Q = X W_q",K:"K = X W_k",V:"V = X W_v",S:"scores = Q Kᵀ",scaled:"scaled scores",A:"weights",O:"output = weights · V"},yt={Wq:"query",Q:"query",Wk:"key",K:"key",Wv:"value",V:"value",O:"output"},it=1e6,xt=Z({name:"calculator",title:"Attention calculator",keys:["X","W_q","W_k","W_v","tokens","stage","focus","scale","causal"],setup({model:t,body:e,say:n,set:a}){let r=[],o,d="",u=s=>a({stage:Math.min(Math.max(s,1),6),focus:[0,0]}),g=J({label:"Stage",part:"stages",value:String(t.get("stage")),options:Bt.map((s,c)=>({value:String(c+1),text:`${c+1} ${s}`})),onChange:s=>u(Number(s))}),v=i("button",{type:"button","data-part":"previous",on:{click:()=>u(t.get("stage")-1)}},"← Back"),M=i("button",{type:"button","data-part":"next",on:{click:()=>u(t.get("stage")+1)}},"Next →"),_=i("button",{type:"button","data-part":"undo",on:{click:j}},"Undo"),z=i("input",{type:"checkbox","data-part":"causal",on:{change:()=>X({causal:z.checked})}}),I=i("p",{class:"attnlab-formula","data-part":"formula","aria-live":"polite"}),C=i("div",{class:"attnlab-mats"}),L=i("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Weights and output"});e.append(g,i("div",{class:"attnlab-row"},v,M,_,i("label",{style:"display: inline-flex; gap: .4rem; align-items: center; min-height: 32px"},z,"hide later tokens")),C,I,i("details",{open:!0},i("summary",{},"Weights and output as a table"),L));function j(){let s=r.pop();s?a(s):n("There is nothing to undo.")}function X(s){r.push(Object.fromEntries(Object.keys(s).map(c=>[c,structuredClone(t.get(c))]))),a(s)}function R(){let[s,c,l,h]=Object.values(nt).map(w=>Jt(w,t.get(w)));for(let[w,f]of[["W_q",c],["W_k",l],["W_v",h]])if(f.length!==s[0].length)throw new Error(`${w} must have as many rows as X has columns (${s[0].length}), it has ${f.length}.`);if(c[0].length!==l[0].length)throw new Error(`W_q and W_k must have as many columns as each other, they have ${c[0].length} and ${l[0].length}.`);return o=ht({x:s,wq:c,wk:l,wv:h,scale:t.get("scale"),causal:!!t.get("causal")}),{X:s,Wq:c,Wk:l,Wv:h,Q:o.q,K:o.k,V:o.v,S:o.scores,scaled:o.scaled,A:o.weights,O:o.output}}function D(){let s=R(),c=Number(t.get("stage")),l=t.get("tokens");if(l.length!==s.X.length)throw new Error(`tokens must name the ${s.X.length} rows of X, it names ${l.length}.`);K(g,String(c)),v.disabled=c<=1,M.disabled=c>=6,z.checked=!!t.get("causal");let h=[["X"],["X","Wq","Wk","Wv","Q","K","V"],["Q","K","S"],["S","scaled"],["scaled","A"],["A","V","O"]][c-1],w=Kt[c-1],f=$(s,w),m=JSON.stringify([c,l,h.map(W=>[s[W].length,s[W][0].length])]);m!==d&&(d=m,C.replaceChildren(...h.map(W=>T(W,s[W],l))));let S=y(f);for(let W of h)N(W,s[W],f,S);let A=x(s,f,l);I.textContent=A,p(s,l),n(`Stage ${c} of 6: ${Qt[c-1]}`)}function $(s,c){let l=t.get("focus"),h=l.length>2&&s[l[2]]?l[2]:c;return{name:h,row:Math.min(Number(l[0])||0,s[h].length-1),column:Math.min(Number(l[1])||0,s[h][0].length-1)}}function T(s,c,l){let h=!s.startsWith("W"),w=["S","scaled","A"].includes(s),f=c.map((S,A)=>i("tr",{},i("th",{scope:"row"},h?l[A]:String(A+1)),...S.map((W,F)=>{let P={"data-row":A,"data-column":F,"aria-label":`${s} row ${A+1} column ${F+1}`},H=s in nt?V(s,A,F,P):b(s,A,F,P);return i("td",{class:"attnlab-cell"},H)}))),m=c[0].map((S,A)=>i("th",{scope:"col"},w?l[A]:String(A+1)));return i("div",{class:"attnlab-scroll"},i("table",{"data-part":`matrix-${s}`,on:{keydown:q}},i("caption",{class:yt[s]?`is-${yt[s]}`:""},Pt[s]+(s==="scaled"?` = scores × ${O(o.factor,3)}`:"")),i("thead",{},i("tr",{},i("td",{style:"border: 0"}),...m)),i("tbody",{},...f)))}function V(s,c,l,h){let w=i("input",{...h,type:"text",inputmode:"decimal"}),f=nt[s];return w.addEventListener("focus",()=>a({focus:[c,l,s]})),w.addEventListener("change",()=>{let m=vt(w.value);if(w.setAttribute("aria-invalid",String(m===null)),m===null){n(`“${w.value}” is not a number from −${it} to ${it}. ${f} row ${c+1}, column ${l+1} stays ${O(t.get(f)[c][l])}.`);return}let S=structuredClone(t.get(f));S[c][l]=m,X({[f]:S})}),w}function b(s,c,l,h){return i("button",{...h,type:"button",on:{click:()=>a({focus:[c,l,s]})}})}function q(s){let c=s.target,l={ArrowRight:[0,1],ArrowLeft:[0,-1],ArrowDown:[1,0],ArrowUp:[-1,0]}[s.key];if(s.key==="Enter"&&c.dispatchEvent(new Event("change")),!l||c instanceof HTMLInputElement&&l[1]&&c.selectionStart!==c.selectionEnd)return;let h=c.closest("table")?.querySelector(`[data-row="${Number(c.dataset.row)+l[0]}"][data-column="${Number(c.dataset.column)+l[1]}"]`);h instanceof HTMLElement&&(s.preventDefault(),h.focus(),h instanceof HTMLButtonElement&&h.click())}function N(s,c,l,h){for(let w of C.querySelectorAll(`[data-part="matrix-${s}"] [data-row]`)){let f=w,[m,S]=[Number(f.dataset.row),Number(f.dataset.column)],A=c[m][S];f.tagName!=="INPUT"?(f.textContent=O(A,s==="A"?3:2),f.setAttribute("aria-label",`${f.textContent}, ${s} row ${m+1} column ${S+1}`)):(document.activeElement!==f||vt(f.value)!==null)&&(f.value=String(A));let W=f.parentElement;W.classList.toggle("is-focus",l.name===s&&l.row===m&&l.column===S),W.classList.toggle("is-source",h(s,m,S)),s==="A"&&rt(W,A)}}function p(s,c){let l=["token",...c.map(h=>`takes of ${h}`),...s.O[0].map((h,w)=>`output ${w+1}`)];L.replaceChildren(i("table",{"data-part":"numbers"},i("thead",{},i("tr",{},...l.map(h=>i("th",{scope:"col"},h)))),i("tbody",{},...c.map((h,w)=>i("tr",{},i("th",{scope:"row"},h),...[...s.A[w],...s.O[w]].map(f=>i("td",{},f.toFixed(4))))))))}function y({name:s,row:c,column:l}){let h={Q:["X","Wq"],K:["X","Wk"],V:["X","Wv"],S:["Q","K"],scaled:["S"],A:["scaled"],O:["A","V"]},[w,f]=h[s]??[];return(m,S,A)=>s==="scaled"?m==="S"&&S===c&&A===l:s==="S"?m==="Q"&&S===c||m==="K"&&S===l:m===w?S===c:m===f&&A===l}function x(s,{name:c,row:l,column:h},w){let f=s[c][l][h],m=(W,F)=>W.map((P,H)=>`${O(P)} × ${P===W[H]&&F[H]<0?`(${O(F[H])})`:O(F[H])}`).join(" + "),S=(W,F)=>W.map(P=>P[F]),A=`[${l+1}, ${h+1}]`;if(c in nt){let W=c==="X"?`the vector of “${w[l]}”`:`what input ${l+1} adds to entry ${h+1}`;return`${nt[c]}${A} = ${O(f)}: ${W}. Type to change it.`}if(c==="Q"||c==="K"||c==="V")return`${c}${A} = ${m(s.X[l],S(s[`W${c.toLowerCase()}`],h))} = ${O(f)}`;if(c==="S")return`score${A}: query of “${w[l]}” · key of “${w[h]}” = ${m(s.Q[l],s.K[h])} = ${O(f)}`;if(c==="scaled"){if(f===-1/0)return`scaled${A} = −∞: “${w[h]}” comes later and is hidden.`;let W=t.get("scale")===null||t.get("scale")===void 0?`/ √${s.Q[0].length}`:`× ${O(o.factor,3)}`;return`scaled${A} = ${O(s.S[l][h])} ${W} = ${O(f)}`}if(c==="A"){let W=s.scaled[l].map(F=>F===-1/0?"0":`e^${O(F)}`);return`weight${A} = ${W[h]} / (${W.join(" + ")}) = ${O(f,3)}: “${w[l]}” takes ${O(100*f,1)} % of “${w[h]}”`}return`output${A} = ${m(s.A[l],S(s.V,h))} = ${O(f)}`}function E(){let s=l=>`torch.tensor(${JSON.stringify(t.get(l))}, dtype=torch.float64)`,c=t.get("scale");return`import torch

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
`}function k(){let{A:s}=R(),c=t.get("tokens"),l=s.flatMap((S,A)=>S.map((W,F)=>`<rect x="${80+F*64}" y="${36+A*40}" width="64" height="40" fill="#0069a8" fill-opacity="${(.52*W).toFixed(3)}" stroke="#d5dae0"/><text x="${112+F*64}" y="${61+A*40}">${O(W,3)}</text>`)),h=c.map((S,A)=>`<text x="40" y="${61+A*40}">${at(S)}</text>`),w=c.map((S,A)=>`<text x="${112+A*64}" y="26">${at(S)}</text>`),[f,m]=[90+64*c.length,46+40*c.length];return`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${f} ${m}" width="${f}" height="${m}" font-family="sans-serif" font-size="15" fill="#1b1f24" text-anchor="middle">${[...l,...h,...w].join("")}</svg>`}return{update:D,pytorch:E,svg:k}}});function vt(t){let e=t.trim().replace("−","-").replace(",","."),n=e===""?NaN:Number(e);return Number.isFinite(n)&&Math.abs(n)<=it?n:null}function Jt(t,e){if(!(Array.isArray(e)&&e.length>0&&e.every(a=>Array.isArray(a)&&a.length>0&&a.length===e[0].length&&a.every(Number.isFinite))))throw new Error(`${t} must be rows of numbers, all of one length.`);return e}var wt=(t,e,n)=>e.map(([a,r])=>n==="dot"?t[0]*a+t[1]*r:-((t[0]-a)**2+(t[1]-r)**2)/2);function $t(t,e,n){let a=t.map(r=>r/n);if(e==="softmax")return G(a);if(e==="sparsemax")return Ht(a);if(e==="relu")return a.map(r=>Math.max(r,0)/a.length);if(e==="none")return a;throw new Error(`weights must be softmax, sparsemax, relu or none, got “${e}”.`)}function Ht(t){let e=t.slice().sort((r,o)=>o-r),[n,a]=[0,0];return e.forEach((r,o)=>{n+=r,1+(o+1)*r>n&&(a=(n-1)/(o+1))}),t.map(r=>Math.max(r-a,0))}var kt=(t,e)=>{let n=a=>t.reduce((r,o,d)=>r+o*e[d][a],0);return[n(0),n(1)]};function At(t){let e=t.slice().sort((a,r)=>a[0]-r[0]||a[1]-r[1]),n=a=>{let r=[];for(let o of a){for(;r.length>1&&qt(r[r.length-2],r[r.length-1],o)<=0;)r.pop();r.push(o)}return r.slice(0,-1)};return e.length<3?e:[...n(e),...n(e.reverse())]}function St(t,e){let n=e.length;return n<3?!0:e.every((a,r)=>qt(a,e[(r+1)%n],t)>=-1e-9)}var qt=(t,e,n)=>(e[0]-t[0])*(n[1]-t[1])-(e[1]-t[1])*(n[0]-t[0]);var B=3,Q=360,Mt=.1,Y=t=>(t+B)/(2*B)*Q,tt=t=>(B-t)/(2*B)*Q,Et=t=>Math.round(Math.min(Math.max(t,-B),B)*100)/100,_t=Z({name:"lookup",title:"Soft lookup",keys:["query","values","names","score","weights","temperature"],setup({model:t,body:e,say:n,set:a,signal:r}){let o=J({label:"Score",part:"score",value:t.get("score"),options:[{value:"dot",text:"dot product"},{value:"distance",text:"closeness"}],onChange:b=>a({score:b})}),d=J({label:"Weights",part:"weigh",value:t.get("weights"),options:["softmax","sparsemax","relu","none"].map(b=>({value:b,text:b})),onChange:b=>a({weights:b})}),u=i("input",{type:"range",min:-2,max:2,step:.05,"data-part":"temperature","aria-label":"Temperature",style:"flex: 1 1 8rem; min-height: 28px; accent-color: var(--fig-query)",on:{input:()=>a({temperature:Math.round(10**Number(u.value)*1e3)/1e3})}}),g=i("span",{class:"attnlab-label",style:"min-width: 3.5rem"}),v=U("svg",{viewBox:`0 0 ${Q} ${Q}`,role:"group","aria-label":"The plane of keys and values; each point can be dragged, or moved with the arrow keys","data-part":"plane",style:"width: 100%; max-width: 26rem; height: auto; touch-action: none; display: block; margin: .8rem auto 0"}),M=i("tbody");e.append(i("div",{class:"attnlab-row"},i("span",{class:"attnlab-label"},"Score by"),o),i("div",{class:"attnlab-row"},i("span",{class:"attnlab-label"},"Weights by"),d),i("div",{class:"attnlab-row"},i("span",{class:"attnlab-label"},"Temperature"),u,g),v,i("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Table of numbers",style:"margin-top: .8rem"},i("table",{"data-part":"numbers"},i("thead",{},i("tr",{},...["point","x","y","score","weight"].map(b=>i("th",{scope:"col"},b)))),M)));let _=[],z=U("polygon",{fill:"var(--fig-value)","fill-opacity":.12,stroke:"var(--fig-value)","stroke-opacity":.5}),I=U("g",{}),C=U("circle",{r:9,fill:"var(--fig-output)","data-part":"output","pointer-events":"none"}),L=U("text",{fill:"var(--fig-output)","font-size":14,"text-anchor":"middle","pointer-events":"none"},"output"),j=b=>b==="query"?t.get("query"):t.get("values")[b];function X(b,q,N){let p=[Et(q),Et(N)];a(b==="query"?{query:p}:{values:t.get("values").map((y,x)=>x===b?p:y)})}function R(b,q){let N=b==="query"?"query":"value",p=b==="query"?U("path",{d:"M 0 -11 L 11 0 L 0 11 L -11 0 Z",fill:`var(--fig-${N})`}):U("circle",{r:9,fill:`var(--fig-${N})`}),y=U("g",{tabindex:0,role:"slider","data-part":"handle","data-which":b,"aria-valuemin":-B,"aria-valuemax":B,style:"cursor: grab"},U("circle",{r:20,fill:"transparent"}),p,U("text",{y:-15,"text-anchor":"middle","font-size":14,fill:"var(--fig-ink)"},q));return ft(y,r,x=>{let E=v.getBoundingClientRect();X(b,(x.clientX-E.left)/E.width*2*B-B,B-(x.clientY-E.top)/E.height*2*B)}),y.addEventListener("keydown",x=>{let E=x.key,k={ArrowRight:[1,0],ArrowLeft:[-1,0],ArrowUp:[0,1],ArrowDown:[0,-1]}[E];if(!k)return;x.preventDefault();let[s,c]=j(b);X(b,s+Mt*k[0],c+Mt*k[1])}),y}function D(){_=[...t.get("names").map((p,y)=>R(y,p)),R("query","query")];let q=U("path",{d:`M 0 ${Q/2} H ${Q} M ${Q/2} 0 V ${Q}`,stroke:"var(--fig-line)"}),N=U("rect",{x:.5,y:.5,width:Q-1,height:Q-1,fill:"none",stroke:"var(--fig-line)",rx:8});v.replaceChildren(N,q,z,I,..._,C,L)}function $(){let b=t.get("values"),q=t.get("names"),N=s=>Array.isArray(s)&&s.length===2&&s.every(Number.isFinite);if(!Array.isArray(b)||!b.length||!b.every(N)||b.length!==q.length)throw new Error("values must be points (x, y), one for each name.");if(!N(t.get("query")))throw new Error("query must be a point (x, y).");let p=Number(t.get("temperature"));if(!(p>0))throw new Error(`temperature must be positive, got ${t.get("temperature")}.`);let y=t.get("query"),x=wt(y,b,t.get("score")),E=$t(x,t.get("weights"),p),k=kt(E,b);return{query:y,values:b,names:q,temperature:p,scores:x,weights:E,out:k,corners:At(b)}}function T(){let{query:b,values:q,names:N,temperature:p,scores:y,weights:x,out:E,corners:k}=$();_.length!==N.length+1&&D(),K(o,t.get("score")),K(d,t.get("weights")),u.value=String(Math.log10(p)),u.setAttribute("aria-valuetext",O(p,3)),g.textContent=O(p,p<1?3:2),_.forEach((f,m)=>{let S=m<N.length?m:"query",[A,W]=j(S);f.setAttribute("transform",`translate(${Y(A)} ${tt(W)})`);let F=S==="query"?"query":`key and value ${N[m]}`;f.setAttribute("aria-label",F),f.setAttribute("aria-valuenow",String(A)),f.setAttribute("aria-valuetext",`x ${O(A)}, y ${O(W)}`)}),z.setAttribute("points",k.map(([f,m])=>`${Y(f)},${tt(m)}`).join(" ")),I.replaceChildren(...q.map(([f,m],S)=>U("line",{x1:Y(f),y1:tt(m),x2:Y(b[0]),y2:tt(b[1]),stroke:x[S]<0?"var(--fig-key)":"var(--fig-query)","stroke-width":(.5+8*Math.min(Math.abs(x[S]),1)).toFixed(2),"stroke-opacity":Math.abs(x[S])<1e-9?.08:.45})));let s=E.map(f=>Math.min(Math.max(f,-B),B));C.setAttribute("cx",String(Y(s[0]))),C.setAttribute("cy",String(tt(s[1]))),L.setAttribute("x",String(Y(s[0]))),L.setAttribute("y",String(tt(s[1])+24));let c=(f,m,S)=>i("tr",{},i("th",{scope:"row"},f),...[m[0].toFixed(2),m[1].toFixed(2),...S].map(A=>i("td",{},A)));M.replaceChildren(c("query",b,["",""]),...q.map((f,m)=>c(N[m],f,[y[m].toFixed(4),x[m].toFixed(4)])),i("tr",{},i("th",{scope:"row"},"output"),...[E[0].toFixed(4),E[1].toFixed(4),"",x.reduce((f,m)=>f+m,0).toFixed(4)].map(f=>i("td",{},f))));let l=x.reduce((f,m)=>f+m,0),h=St(E,k)?"inside the hull of the values":"outside the hull of the values",w=x.indexOf(Math.max(...x));n(`The weights sum to ${O(l)}; the largest is ${O(x[w])}, of ${N[w]}. The output is ${h}.`)}function V(){let b=y=>`torch.tensor(${JSON.stringify(t.get(y))}, dtype=torch.float64)`,q=t.get("temperature"),N=t.get("score")==="dot"?"values @ query":"-(values - query).square().sum(-1) / 2",p={softmax:"scores.softmax(z)",sparsemax:"scores.sparsemax(z)",relu:"scores.relu(z)",none:"z"};return`import torch

from attnlab import scores

query = ${b("query")}
values = ${b("values")}  # the keys too: ${t.get("names").join(", ")}
z = (${N}) / ${q}
weights = ${p[t.get("weights")]}
print(weights)
print(weights @ values)
`}return{update:T,pytorch:V,svg:()=>pt(v)}}});var Ot=["n't","'s","'m","'re","'ve","'ll","'d"],Lt=new Set(`mr. mrs. ms. dr. prof. st. jr. sr. vs. etc. inc. co. corp. ltd. gen. rep. sen. gov. lt. col. no. ph.d. fig.
al. jan. feb. mar. apr. jun. jul. aug. sep. sept. oct. nov. dec. ave. blvd. rd. approx. dept. est.`.split(/\s+/)),Zt=/^(?:(?:[A-Za-z][A-Za-z0-9+.-]*:\/\/|[Ww][Ww][Ww]\.)[^ ]|[^@]+@[^@.]+\.[^@])/u,Gt=/^(?:[A-Za-z]\.)+[A-Za-z]?\.?$/,Yt=t=>/^[\p{Z}\p{Cc}]$/u.test(t),et=t=>/^[\p{L}\p{M}\p{N}_]$/u.test(t),ct=t=>/^\p{N}$/u.test(t),te=t=>/^[\p{M}\p{Cf}\p{Sk}]$/u.test(t)&&t.codePointAt(0)>127,ee=t=>t.replaceAll("’","'").toLowerCase();function lt(t){let e=Array.from(t,r=>/^[\ud800-\udfff]$/.test(r)?"�":r),n=[],a="";for(let r of[...e," "])Yt(r)?a&&(n.push(...ne(a)),a=""):a+=r;return n}function Ct(t){let e=Array.from(t.toLowerCase()),n="",a="",r=0;for(let o of t){let d=ae(o);r=d===a?r+1:1,a=d,r<=2&&(n+=d)}return[`w=${e.join("")}`,...[1,2,3].map(o=>`p${o}=${e.slice(0,o).join("")}`),...[1,2,3,4].map(o=>`s${o}=${e.slice(-o).join("")}`),`shape=${Array.from(n).slice(0,8).join("")}`]}function Tt(t,e,n){let a=(2166136261^e)>>>0;for(let r of new TextEncoder().encode(t))a=Math.imul(a^r,16777619)>>>0;return a%n}function ae(t){return/^[\p{Lu}\p{Lt}]$/u.test(t)?"X":/^\p{L}$/u.test(t)?"x":ct(t)?"d":t}function ne(t){let[e,...n]=re(t),[a,r]=n,o=a+r;return Lt.has(o.toLowerCase())||Gt.test(o)&&o.slice(0,-1).includes(".")?[a,r]=[o,""]:r.startsWith(".")&&Lt.has(`${a}.`.toLowerCase())&&([a,r]=[`${a}.`,r.slice(1)]),[...Wt(e),...Zt.test(a)?[a]:oe(a),...Wt(r)]}function re(t){if(Ot.includes(ee(t)))return["",t,""];let e=Array.from(t),n=e.findIndex(et);if(n<0)return[t,"",""];let a=e.findLastIndex(et)+1;return[e.slice(0,n),e.slice(n,a),e.slice(a)].map(r=>r.join(""))}function Wt(t){let e=[];for(let n of t){let a=e.length?Array.from(e[e.length-1]).at(-1):"";a&&(n===a||te(n)||a==="‍")?e[e.length-1]+=n:e.push(n)}return e}function oe(t){if(!t)return[];let e=Array.from(t),n=[],a=0;for(let o=1;o<e.length-1;o++)!et(e[o])&&!se(e,o)&&(n.push(e.slice(a,o).join(""),e[o]),a=o+1);n.push(e.slice(a).join(""));let r=[];for(let o of n.filter(Boolean)){let d=Array.from(o),u=r.length?Array.from(r[r.length-1]).at(-1):"";d.length===1&&!et(o)&&o===u?r[r.length-1]+=o:r.push(...ie(o))}return r}function se(t,e){let[n,a,r]=[t[e-1],t[e],t[e+1]];return!et(n)||!et(r)?!1:".,:".includes(a)?ct(n)&&ct(r)||a===".":"'’&".includes(a)}function ie(t){let e=Array.from(t),n=Array.from(t.toLowerCase().replaceAll("’","'"));if(n.length!==e.length)return[t];let a=n.join("");if(a==="cannot")return[t.slice(0,3),t.slice(3)];for(let r of Ot)if(a.endsWith(r)&&n.length>r.length){let o=e.length-r.length;return[e.slice(0,o).join(""),e.slice(o).join("")]}return[t]}function ut(t){let e=new DataView(t.buffer,t.byteOffset,t.byteLength),n=Number(e.getBigUint64(0,!0)),a=JSON.parse(new TextDecoder().decode(t.subarray(8,8+n))),r={};for(let[d,{dtype:u,shape:g,data_offsets:v}]of Object.entries(a)){if(d==="__metadata__")continue;let[M,_]=v.map(C=>C+8+n),z=new Uint8Array(t.subarray(M,_)),I=u==="F32"?new Float32Array(z.buffer):u==="I8"?new Int8Array(z.buffer):z;r[d]={shape:g,dtype:u,data:Float64Array.from(I)}}let o={};for(let[d,u]of Object.entries(r))if(!d.endsWith(".scale"))if(!d.endsWith(".q"))o[d]=u;else{let g=d.slice(0,-2),v=r[`${g}.scale`].data;o[g]=u.dtype==="U8"?ce(u,v):le(u,v)}return{card:JSON.parse(a.__metadata__.card),tensors:o}}function ce({shape:[t,e],data:n},a){let r=2*e,o=new Float64Array(t*r);for(let d=0;d<t;d++)for(let u=0;u<e;u++){let g=n[d*e+u];o[d*r+u]=Math.fround(((g&15)-8)*a[u]),o[d*r+e+u]=Math.fround(((g>>4)-8)*a[e+u])}return{shape:[t,r],data:o}}function le({shape:t,data:e},n){return{shape:t,data:e.map((a,r)=>Math.fround(a*n[Math.floor(r/t[1])]))}}function jt({card:t,tensors:e},n){let{n_buckets:a,d_model:r,n_heads:o,n_layers:d,seeds:u}=t.form,g=e["table.weight"].data,v=n.map(L=>{let j=new Array(r).fill(0);for(let X of Ct(L))for(let R of u){let D=Tt(X,R,a)*r;for(let $=0;$<r;$++)j[$]+=g[D+$]}return j}),M=(L,j)=>{let{shape:X,data:R}=e[`${j}.weight`],D=Array.from(e[`${j}.bias`].data);for(let $=0;$<X[0];$++)for(let T=0;T<X[1];T++)D[$]+=R[$*X[1]+T]*L[T];return D},_=(L,j)=>mt(L,e[`${j}.weight`].data,e[`${j}.bias`].data),z=[];for(let L=0;L<d;L++){let j=`layers.${L}`,X=v.map(q=>_(q,`${j}.norm`)),[R,D,$]=["q","k","v"].map(q=>X.map(N=>M(N,`${j}.attention.${q}_proj`))),T=R.length?R[0].length/o:0,V=[],b=n.map(()=>[]);for(let q=0;q<o;q++){let N=x=>x.slice(q*T,(q+1)*T),p=[R,D].map(x=>x.map((E,k)=>bt(N(E),k))),y=p[0].map(x=>G(p[1].map(E=>x.reduce((k,s,c)=>k+s*E[c],0)/Math.sqrt(T))));V.push(y),y.forEach((x,E)=>{for(let k=0;k<T;k++)b[E].push(x.reduce((s,c,l)=>s+c*$[l][q*T+k],0))})}z.push(V),v=v.map((q,N)=>Nt(q,M(b[N],`${j}.attention.out_proj`))),v=v.map(q=>{let N=M(_(q,`${j}.norm2`),`${j}.up`).map(p=>Math.max(p,0));return Nt(q,M(N,`${j}.down`))})}let I=v.map(L=>G(M(_(L,"norm"),"out"))),C=I.map(L=>t.tags[L.indexOf(Math.max(...L))]);return{tokens:n,tags:C,probabilities:I,weights:z}}var Nt=(t,e)=>t.map((n,a)=>n+e[a]);var ot=128,zt=["I saw a saw","What do you do?","There were many hotels there.","Can you open the can?"];function dt(t,e){let n=t.flat(),[a,r]=e.split(".").map(Number),o=t[a-1]?.[r-1];if(o)return o;let d=n[0]?.length??0;return Array.from({length:d},(u,g)=>Array.from({length:d},(v,M)=>n.reduce((_,z)=>_+z[g][M],0)/n.length))}async function ue(t,e){let n=t.get("model");if(n?.byteLength)return ut(new Uint8Array(n.buffer??n,n.byteOffset??0,n.byteLength));let a=()=>globalThis.attnlabModels?.tagger;return a()||await new Promise((r,o)=>{let d=document.createElement("script");d.src=new URL("models/tagger-model.js",e??document.baseURI).href,d.onload=r,d.onerror=()=>o(new Error("its weights (models/tagger-model.js) did not load. Reload the page.")),document.head.append(d)}),ut(Uint8Array.from(atob(a()),r=>r.charCodeAt(0)))}var It=Z({name:"tag",title:"Tag a sentence",keys:["sentence","word","head"],async setup({model:t,body:e,say:n,set:a,signal:r,place:o}){let d=await ue(t,o.base),{card:u}=d,g,v="",M=0,_=i("input",{type:"text","aria-label":"A sentence to tag","data-part":"sentence",autocomplete:"off",spellcheck:"false",dir:"auto",on:{input:()=>a({sentence:_.value,word:-1})}}),z=i("div",{class:"attnlab-row attnlab-examples"},i("span",{class:"attnlab-label"},"Try"));for(let p of zt){let y=()=>a({sentence:p,word:p===zt[0]?3:-1});z.append(i("button",{type:"button","data-part":"example",on:{click:y}},p))}let I=J({label:"Which attention head",part:"heads",value:t.get("head"),options:[{value:"mean",text:"all heads"},...Array.from({length:u.form.n_layers*u.form.n_heads},(p,y)=>{let[x,E]=[Math.floor(y/u.form.n_heads)+1,y%u.form.n_heads+1],k=u.form.n_layers>1?`${x}.${E}`:String(E);return{value:`${x}.${E}`,text:k}})],onChange:p=>a({head:p})}),C=i("div",{class:"attnlab-tokens",role:"radiogroup","aria-label":"The words, each with its tag",on:{keydown:$}}),L=i("p",{"data-part":"alternatives"}),j=i("tbody"),X=i("table",{"data-part":"numbers"},i("caption",{},"Every number"),i("thead",{},i("tr",{},...["word","tag","probability","weight"].map(p=>i("th",{scope:"col"},p)))),j),R=u.form.n_layers>1?" (layer.head; layers look one after the other)":"";e.append(_,z,i("div",{class:"attnlab-row"},i("span",{class:"attnlab-label"},`Attention of${R}`),I),C,L,i("details",{},i("summary",{},"The numbers as a table"),i("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Table of numbers"},X)),i("p",{class:"attnlab-note","data-part":"card"},`Trained on ${u.data} (${u.licence}); ${u.accuracy.test} % of its test words come out right. It knows no more English than that.`));let D=new ResizeObserver(()=>N());D.observe(C),r.addEventListener("abort",()=>D.disconnect());function $(p){let y={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[p.key],x=g.tokens.length;!y||!x||(p.preventDefault(),a({word:(Math.max(t.get("word"),0)+y+x)%x}),C.querySelector('[tabindex="0"]')?.focus())}function T(){let p=String(t.get("sentence")??"");if(g&&p===v)return;v=p;let y=lt(p);M=Math.max(y.length-ot,0),g=jt(d,y.slice(0,ot))}let V=()=>{let p=Number(t.get("word")??-1);return p>=0&&p<g.tokens.length?p:-1};function b(){T(),_.value!==v&&(_.value=v),K(I,t.get("head"));let p=V(),y=p<0?[]:dt(g.weights,t.get("head"))[p],x=C.contains(document.activeElement);C.replaceChildren(...g.tokens.map((E,k)=>{let s=Math.max(...g.probabilities[k]),c=i("button",{type:"button",class:"attnlab-token",role:"radio","aria-checked":k===p?"true":"false",tabindex:k===Math.max(p,0)?0:-1,"data-part":"token",on:{click:()=>a({word:k})}},i("b",{dir:"auto"},E),i("span",{},g.tags[k]),i("i",{},p<0?`${O(100*s,0)} %`:`gives ${O(100*y[k],0)} %`));return p>=0&&rt(c,y[k]),c})),x&&C.querySelector('[tabindex="0"]')?.focus(),j.replaceChildren(...g.tokens.map((E,k)=>i("tr",{},i("th",{scope:"row",dir:"auto"},E),i("td",{},g.tags[k]),i("td",{},Math.max(...g.probabilities[k]).toFixed(4)),i("td",{},p<0?"–":y[k].toFixed(4))))),q(p,y),N()}function q(p,y){if(!g.tokens.length){L.textContent="",n("Type a sentence: there is nothing to tag yet.");return}let x=M?` Only the first ${ot} of ${ot+M} words are shown.`:"";if(p<0){L.textContent="Pick a word to see where the tagger looked.",n(g.tokens.map((c,l)=>`${c} ${g.tags[l]}`).join(", ")+"."+x);return}let E=g.probabilities[p].map((c,l)=>({p:c,tag:u.tags[l]})).sort((c,l)=>l.p-c.p).slice(0,3);L.textContent=E.map(({p:c,tag:l})=>`${l} ${O(100*c,1)} %`).join(" · ");let k=y.indexOf(Math.max(...y)),s=k===p?"itself":`“${g.tokens[k]}” (word ${k+1})`;n(`“${g.tokens[p]}” (word ${p+1}) is ${g.tags[p]}. It takes most from ${s}: ${O(100*y[k],0)} %.${x}`)}function N(){C.querySelector("svg")?.remove();let p=V(),y=[...C.querySelectorAll(".attnlab-token")],x=y.length>1&&y.every(l=>l.offsetTop===y[0].offsetTop),E=p>=0&&x&&C.clientWidth>480;if(C.classList.toggle("has-arcs",E),!E)return;let k=dt(g.weights,t.get("head"))[p],s=U("svg",{class:"attnlab-arcs","aria-hidden":"true","data-part":"arcs"}),c=y.map(l=>l.offsetLeft+l.offsetWidth/2);y.forEach((l,h)=>{if(k[h]<.02)return;let[w,f]=[c[p],c[h]],m=h===p?26:Math.min(24+Math.abs(f-w)*.16,76),S=h===p?`M ${w-9} 82 C ${w-22} ${82-m*1.4}, ${w+22} ${82-m*1.4}, ${w+9} 82`:`M ${w} 82 C ${w} ${82-m}, ${f} ${82-m}, ${f} 82`;s.append(U("path",{d:S,fill:"none",stroke:"var(--fig-query)","stroke-width":(1+9*k[h]).toFixed(2),"stroke-opacity":(.25+.7*k[h]).toFixed(2),"stroke-linecap":"round"}))}),C.prepend(s)}return{update:b,pytorch:()=>de(v,V(),t.get("head")),svg:()=>pe(g,V(),t.get("head"))}}});function de(t,e,n){let[a,r]=n.split(".").map(Number),o=n==="mean"?"tagged.weights.mean((0, 1))":`tagged.weights[${a-1}, ${r-1}]`,d=e<0?"":`weights = ${o}[${e}]  # how much word ${e} takes of each word
`;return`from attnlab.tagging import shipped

tagged = shipped.load().tag(${JSON.stringify(t)})
${d}for i, (token, tag) in enumerate(zip(tagged.tokens, tagged.tags)):
    print(token, tag, round(tagged.probabilities[i].max().item(), 4)${e<0?"":", round(weights[i].item(), 4)"})
`}function pe(t,e,n){let a=e<0?[]:dt(t.weights,n)[e],r=110,o=t.tokens.map((u,g)=>{let v=10+g*r,M=a[g]??0;return`<rect x="${v}" y="10" width="${r-8}" height="76" rx="8" fill="#0069a8" fill-opacity="${(.52*M).toFixed(3)}" stroke="${g===e?"#0069a8":"#d5dae0"}" stroke-width="2"/><text x="${v+51}" y="36" font-size="18">${at(u)}</text><text x="${v+51}" y="57" font-size="13">${t.tags[g]}</text><text x="${v+51}" y="76" font-size="13">${e<0?"":`${O(100*M,0)} %`}</text>`}),d=12+t.tokens.length*r;return`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${d} 96" width="${d}" height="96" font-family="sans-serif" fill="#1b1f24" text-anchor="middle">${o.join("")}</svg>`}var fe=Object.fromEntries([xt,_t,It].map(t=>[t.name,t])),ge=document.currentScript,he=new URL(".",ge?.src||document.baseURI).href;function me(t){let e=t.dataset.attnlab??"",n=fe[e];if(!n||t.dataset.mounted)return;t.dataset.mounted="true";let a=[...document.querySelectorAll(`figure[data-attnlab="${e}"]`)].indexOf(t),r=a?`${e}-${a+1}`:e;t.id||=`figure-${r}`;let o=JSON.parse(t.dataset.settings??"{}"),d=new URLSearchParams(location.search).get(r);d&&Object.assign(o,be(d,n.keys));let u=t.querySelector("figcaption"),g=document.createElement("div");t.replaceChildren(g,...u?[u]:[]);let v=M=>{let _=new URL(location.href);return _.searchParams.set(r,JSON.stringify(M)),_.hash=t.id,_.href};n.render({model:ye(o),el:g,place:{base:he,link:v}})}function be(t,e){try{let n=JSON.parse(t);return Object.fromEntries(Object.entries(n).filter(([a])=>e.includes(a)))}catch{return{}}}function ye(t){return{get:e=>t[e],set:(e,n)=>{t[e]=n},save_changes(){},on(){}}}var Rt=()=>document.querySelectorAll("figure[data-attnlab]").forEach(t=>me(t));document.readyState==="loading"?document.addEventListener("DOMContentLoaded",Rt):Rt();})();
