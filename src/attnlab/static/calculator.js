function s(a,o={},...i){let c=document.createElement(a);for(let[g,u]of Object.entries(o))if(g==="on")for(let[x,m]of Object.entries(u))c.addEventListener(x,m);else u===!0?c.setAttribute(g,""):u!=null&&u!==!1&&c.setAttribute(g,String(u));return c.append(...i.filter(g=>g!=null)),c}function y(a,o=2){if(a===-1/0)return"−∞";if(Math.abs(a)>=1e5)return a.toExponential(1).replace("-","−");let i=a.toFixed(o);return Number(i)===0?i.replace("-",""):i.replace("-","−")}function U({label:a,options:o,value:i,part:c,onChange:g}){let u=o.map(m=>s("button",{type:"button",role:"radio","aria-checked":m.value===i?"true":"false",tabindex:m.value===i?0:-1,"data-value":m.value,on:{click:()=>g(m.value)}},m.text)),x=s("div",{class:"attnlab-choices",role:"radiogroup","aria-label":a,"data-part":c});return x.append(...u),x.addEventListener("keydown",m=>{let S={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[m.key],$=u.findIndex(E=>E===m.target);if(!S||$<0)return;m.preventDefault();let q=u[($+S+u.length)%u.length];V(x,q.dataset.value),q.focus(),g(q.dataset.value)}),x}function V(a,o){for(let i of a.querySelectorAll("button")){let c=i.dataset.value===o;i.setAttribute("aria-checked",String(c)),i.tabIndex=c?0:-1}}function B(a,o,i="query"){let c=Math.round(52*Math.min(Math.max(o,0),1)*10)/10;a.style.backgroundColor=`color-mix(in srgb, var(--fig-${i}) ${c}%, transparent)`}var D=`/* The figures carry their own colours: in Lab and Colab there is no book theme around them. */
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
`;function F(a){return{name:a.name,keys:a.keys,async render({model:o,el:i,signal:c,place:g={}}){let u=new AbortController;c?.addEventListener("abort",()=>u.abort()),ot(i);let x=Object.fromEntries(a.keys.map(h=>[h,structuredClone(o.get(h))])),m=s("div",{class:"attnlab-body"}),S=s("p",{class:"attnlab-status",role:"status","data-part":"status"}),$=s("p",{class:"attnlab-error",role:"alert","data-part":"error",hidden:!0}),q=s("div",{class:"attnlab-bar",role:"group","aria-label":`${a.title}: actions`}),E=s("div",{class:"attnlab-root","data-lm-suppress-shortcuts":"true","data-figure":a.name},m,$,S,q);i.replaceChildren(E);let W,O=h=>{try{h(),$.hidden=!0}catch(w){console.warn("attnlab figure:",w),$.textContent=`This figure could not be drawn: ${w instanceof Error?w.message:w}`,$.hidden=!1}},A=()=>O(()=>W?.update()),N=h=>{for(let[w,X]of Object.entries(h))o.set(w,X);o.save_changes(),A()},M=h=>{S.textContent!==h&&(S.textContent=h)};try{W=await a.setup({model:o,body:m,say:M,set:N,signal:u.signal,place:g})}catch(h){return O(()=>{throw h}),()=>u.abort()}let Q=()=>Object.fromEntries(a.keys.map(h=>[h,o.get(h)]));q.append(C("Reset","reset",()=>(N(structuredClone(x)),"Reset.")),g.link?C("Copy link","link",()=>I(g.link(Q()))):"",C("Copy as PyTorch","pytorch",()=>I(W.pytorch())),C("Save SVG","svg",()=>nt(W.svg(),`attnlab-${a.name}.svg`))),A();for(let h of a.keys)o.on(`change:${h}`,A),u.signal.addEventListener("abort",()=>o.off?.(`change:${h}`,A));return()=>u.abort();function C(h,w,X){let K=s("button",{type:"button","data-part":w},h);return K.addEventListener("click",async()=>{try{M(await X())}catch(T){M(`That did not work: ${T instanceof Error?T.message:T}`)}}),K}async function I(h){E.querySelector(".attnlab-copied")?.remove();try{return await navigator.clipboard.writeText(h),"Copied."}catch{let w=s("textarea",{class:"attnlab-copied",readonly:!0,rows:Math.min(h.split(`
`).length,12),"aria-label":"Text to copy","data-part":"copied"});return w.value=h,q.after(w),w.focus(),w.select(),"The text is selected below: copy it with your keyboard."}}}}}function nt(a,o){let i=URL.createObjectURL(new Blob([a],{type:"image/svg+xml"}));return s("a",{href:i,download:o}).click(),setTimeout(()=>URL.revokeObjectURL(i),1e4),`Saved ${o}.`}function ot(a){a.classList.add("attnlab-figure");let o=a.getRootNode(),i=o instanceof Document?o.head:o instanceof ShadowRoot?o:a;if(i.querySelector?.("style[data-attnlab]"))return;let c=s("style",{"data-attnlab":!0});c.textContent=D,i.append(c)}var R=(a,o)=>a.map(i=>o[0].map((c,g)=>i.reduce((u,x,m)=>u+x*o[m][g],0))),st=a=>a[0].map((o,i)=>a.map(c=>c[i]));function it(a){let o=Math.max(...a);if(o===-1/0)return a.map(()=>0);let i=a.map(g=>Math.exp(g-o)),c=i.reduce((g,u)=>g+u,0);return i.map(g=>g/c)}function H({x:a,wq:o,wk:i,wv:c,scale:g=null,causal:u=!1}){let[x,m,S]=[o,i,c].map(O=>R(a,O)),$=R(x,st(m)),q=g??1/Math.sqrt(x[0].length),E=$.map((O,A)=>O.map((N,M)=>u&&M>A?-1/0:N*q)),W=E.map(it);return{q:x,k:m,v:S,scores:$,factor:q,scaled:E,weights:W,output:R(W,S)}}var lt=["Input","Q, K, V","Scores","Scaled","Weights","Output"],ct=["one row of numbers for each token.","three views of every token: what it looks for, offers and passes on.","every query against every key.","the scores, made smaller so that their spread does not grow with the width.","each row becomes shares that sum to one.","each row is a weighted mean of the values."],z={X:"X",Wq:"W_q",Wk:"W_k",Wv:"W_v"},ut=["X","Q","S","scaled","A","O"],dt={X:"X",Wq:"W_q",Wk:"W_k",Wv:"W_v",Q:"Q = X W_q",K:"K = X W_k",V:"V = X W_v",S:"scores = Q Kᵀ",scaled:"scaled scores",A:"weights",O:"output = weights · V"},G={Wq:"query",Q:"query",Wk:"key",K:"key",Wv:"value",V:"value",O:"output"},j=1e6,wt=F({name:"calculator",title:"Attention calculator",keys:["X","W_q","W_k","W_v","tokens","stage","focus","scale","causal"],setup({model:a,body:o,say:i,set:c}){let g=[],u,x="",m=t=>c({stage:Math.min(Math.max(t,1),6),focus:[0,0]}),S=U({label:"Stage",part:"stages",value:String(a.get("stage")),options:lt.map((t,e)=>({value:String(e+1),text:`${e+1} ${t}`})),onChange:t=>m(Number(t))}),$=s("button",{type:"button","data-part":"previous",on:{click:()=>m(a.get("stage")-1)}},"← Back"),q=s("button",{type:"button","data-part":"next",on:{click:()=>m(a.get("stage")+1)}},"Next →"),E=s("button",{type:"button","data-part":"undo",on:{click:M}},"Undo"),W=s("input",{type:"checkbox","data-part":"causal",on:{change:()=>Q({causal:W.checked})}}),O=s("p",{class:"attnlab-formula","data-part":"formula","aria-live":"polite"}),A=s("div",{class:"attnlab-mats"}),N=s("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Weights and output"});o.append(S,s("div",{class:"attnlab-row"},$,q,E,s("label",{style:"display: inline-flex; gap: .4rem; align-items: center; min-height: 32px"},W,"hide later tokens")),A,O,s("details",{open:!0},s("summary",{},"Weights and output as a table"),N));function M(){let t=g.pop();t?c(t):i("There is nothing to undo.")}function Q(t){g.push(Object.fromEntries(Object.keys(t).map(e=>[e,structuredClone(a.get(e))]))),c(t)}function C(){let[t,e,r,n]=Object.values(z).map(f=>pt(f,a.get(f)));for(let[f,l]of[["W_q",e],["W_k",r],["W_v",n]])if(l.length!==t[0].length)throw new Error(`${f} must have as many rows as X has columns (${t[0].length}), it has ${l.length}.`);if(e[0].length!==r[0].length)throw new Error(`W_q and W_k must have as many columns as each other, they have ${e[0].length} and ${r[0].length}.`);return u=H({x:t,wq:e,wk:r,wv:n,scale:a.get("scale"),causal:!!a.get("causal")}),{X:t,Wq:e,Wk:r,Wv:n,Q:u.q,K:u.k,V:u.v,S:u.scores,scaled:u.scaled,A:u.weights,O:u.output}}function I(){let t=C(),e=Number(a.get("stage")),r=a.get("tokens");if(r.length!==t.X.length)throw new Error(`tokens must name the ${t.X.length} rows of X, it names ${r.length}.`);V(S,String(e)),$.disabled=e<=1,q.disabled=e>=6,W.checked=!!a.get("causal");let n=[["X"],["X","Wq","Wk","Wv","Q","K","V"],["Q","K","S"],["S","scaled"],["scaled","A"],["A","V","O"]][e-1],f=ut[e-1],l=h(t,f),b=JSON.stringify([e,r,n.map(p=>[t[p].length,t[p][0].length])]);b!==x&&(x=b,A.replaceChildren(...n.map(p=>w(p,t[p],r))));let v=Z(l);for(let p of n)P(p,t[p],l,v);let d=tt(t,l,r);O.textContent=d,Y(t,r),i(`Stage ${e} of 6: ${ct[e-1]}`)}function h(t,e){let r=a.get("focus"),n=r.length>2&&t[r[2]]?r[2]:e;return{name:n,row:Math.min(Number(r[0])||0,t[n].length-1),column:Math.min(Number(r[1])||0,t[n][0].length-1)}}function w(t,e,r){let n=!t.startsWith("W"),f=["S","scaled","A"].includes(t),l=e.map((v,d)=>s("tr",{},s("th",{scope:"row"},n?r[d]:String(d+1)),...v.map((p,k)=>{let _={"data-row":d,"data-column":k,"aria-label":`${t} row ${d+1} column ${k+1}`},L=t in z?X(t,d,k,_):K(t,d,k,_);return s("td",{class:"attnlab-cell"},L)}))),b=e[0].map((v,d)=>s("th",{scope:"col"},f?r[d]:String(d+1)));return s("div",{class:"attnlab-scroll"},s("table",{"data-part":`matrix-${t}`,on:{keydown:T}},s("caption",{class:G[t]?`is-${G[t]}`:""},dt[t]+(t==="scaled"?` = scores × ${y(u.factor,3)}`:"")),s("thead",{},s("tr",{},s("td",{style:"border: 0"}),...b)),s("tbody",{},...l)))}function X(t,e,r,n){let f=s("input",{...n,type:"text",inputmode:"decimal"}),l=z[t];return f.addEventListener("focus",()=>c({focus:[e,r,t]})),f.addEventListener("change",()=>{let b=J(f.value);if(f.setAttribute("aria-invalid",String(b===null)),b===null){i(`“${f.value}” is not a number from −${j} to ${j}. ${l} row ${e+1}, column ${r+1} stays ${y(a.get(l)[e][r])}.`);return}let v=structuredClone(a.get(l));v[e][r]=b,Q({[l]:v})}),f}function K(t,e,r,n){return s("button",{...n,type:"button",on:{click:()=>c({focus:[e,r,t]})}})}function T(t){let e=t.target,r={ArrowRight:[0,1],ArrowLeft:[0,-1],ArrowDown:[1,0],ArrowUp:[-1,0]}[t.key];if(t.key==="Enter"&&e.dispatchEvent(new Event("change")),!r||e instanceof HTMLInputElement&&r[1]&&e.selectionStart!==e.selectionEnd)return;let n=e.closest("table")?.querySelector(`[data-row="${Number(e.dataset.row)+r[0]}"][data-column="${Number(e.dataset.column)+r[1]}"]`);n instanceof HTMLElement&&(t.preventDefault(),n.focus(),n instanceof HTMLButtonElement&&n.click())}function P(t,e,r,n){for(let f of A.querySelectorAll(`[data-part="matrix-${t}"] [data-row]`)){let l=f,[b,v]=[Number(l.dataset.row),Number(l.dataset.column)],d=e[b][v];l.tagName!=="INPUT"?(l.textContent=y(d,t==="A"?3:2),l.setAttribute("aria-label",`${l.textContent}, ${t} row ${b+1} column ${v+1}`)):(document.activeElement!==l||J(l.value)!==null)&&(l.value=String(d));let p=l.parentElement;p.classList.toggle("is-focus",r.name===t&&r.row===b&&r.column===v),p.classList.toggle("is-source",n(t,b,v)),t==="A"&&B(p,d)}}function Y(t,e){let r=["token",...e.map(n=>`takes of ${n}`),...t.O[0].map((n,f)=>`output ${f+1}`)];N.replaceChildren(s("table",{"data-part":"numbers"},s("thead",{},s("tr",{},...r.map(n=>s("th",{scope:"col"},n)))),s("tbody",{},...e.map((n,f)=>s("tr",{},s("th",{scope:"row"},n),...[...t.A[f],...t.O[f]].map(l=>s("td",{},l.toFixed(4))))))))}function Z({name:t,row:e,column:r}){let n={Q:["X","Wq"],K:["X","Wk"],V:["X","Wv"],S:["Q","K"],scaled:["S"],A:["scaled"],O:["A","V"]},[f,l]=n[t]??[];return(b,v,d)=>t==="scaled"?b==="S"&&v===e&&d===r:t==="S"?b==="Q"&&v===e||b==="K"&&v===r:b===f?v===e:b===l&&d===r}function tt(t,{name:e,row:r,column:n},f){let l=t[e][r][n],b=(p,k)=>p.map((_,L)=>`${y(_)} × ${_===p[L]&&k[L]<0?`(${y(k[L])})`:y(k[L])}`).join(" + "),v=(p,k)=>p.map(_=>_[k]),d=`[${r+1}, ${n+1}]`;if(e in z){let p=e==="X"?`the vector of “${f[r]}”`:`what input ${r+1} adds to entry ${n+1}`;return`${z[e]}${d} = ${y(l)}: ${p}. Type to change it.`}if(e==="Q"||e==="K"||e==="V")return`${e}${d} = ${b(t.X[r],v(t[`W${e.toLowerCase()}`],n))} = ${y(l)}`;if(e==="S")return`score${d}: query of “${f[r]}” · key of “${f[n]}” = ${b(t.Q[r],t.K[n])} = ${y(l)}`;if(e==="scaled"){if(l===-1/0)return`scaled${d} = −∞: “${f[n]}” comes later and is hidden.`;let p=a.get("scale")===null||a.get("scale")===void 0?`/ √${t.Q[0].length}`:`× ${y(u.factor,3)}`;return`scaled${d} = ${y(t.S[r][n])} ${p} = ${y(l)}`}if(e==="A"){let p=t.scaled[r].map(k=>k===-1/0?"0":`e^${y(k)}`);return`weight${d} = ${p[n]} / (${p.join(" + ")}) = ${y(l,3)}: “${f[r]}” takes ${y(100*l,1)} % of “${f[n]}”`}return`output${d} = ${b(t.A[r],v(t.V,n))} = ${y(l)}`}function et(){let t=r=>`torch.tensor(${JSON.stringify(a.get(r))}, dtype=torch.float64)`,e=a.get("scale");return`import torch

from attnlab import attention

x = ${t("X")}  # one row a token: ${a.get("tokens").join(", ")}
w_q = ${t("W_q")}
w_k = ${t("W_k")}
w_v = ${t("W_v")}
output, weights = attention(
    x @ w_q, x @ w_k, x @ w_v, scale=${e??"None"}, is_causal=${a.get("causal")?"True":"False"}, need_weights=True
)
print(weights)
print(output)
`}function at(){let{A:t}=C(),e=a.get("tokens"),r=d=>d.replace(/[&<>"]/g,p=>`&#${p.charCodeAt(0)};`),n=t.flatMap((d,p)=>d.map((k,_)=>`<rect x="${80+_*64}" y="${36+p*40}" width="64" height="40" fill="#0069a8" fill-opacity="${(.52*k).toFixed(3)}" stroke="#d5dae0"/><text x="${112+_*64}" y="${61+p*40}">${y(k,3)}</text>`)),f=e.map((d,p)=>`<text x="40" y="${61+p*40}">${r(d)}</text>`),l=e.map((d,p)=>`<text x="${112+p*64}" y="26">${r(d)}</text>`),[b,v]=[90+64*e.length,46+40*e.length];return`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${b} ${v}" width="${b}" height="${v}" font-family="sans-serif" font-size="15" fill="#1b1f24" text-anchor="middle">${[...n,...f,...l].join("")}</svg>`}return{update:I,pytorch:et,svg:at}}});function J(a){let o=a.trim().replace("−","-").replace(",","."),i=o===""?NaN:Number(o);return Number.isFinite(i)&&Math.abs(i)<=j?i:null}function pt(a,o){if(!(Array.isArray(o)&&o.length>0&&o.every(c=>Array.isArray(c)&&c.length>0&&c.length===o[0].length&&c.every(Number.isFinite))))throw new Error(`${a} must be rows of numbers, all of one length.`);return o}export{wt as default};
