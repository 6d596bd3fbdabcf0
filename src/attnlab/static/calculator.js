function s(a,r={},...i){let c=document.createElement(a);for(let[g,u]of Object.entries(r))if(g==="on")for(let[x,v]of Object.entries(u))c.addEventListener(x,v);else u===!0?c.setAttribute(g,""):u!=null&&u!==!1&&c.setAttribute(g,String(u));return c.append(...i.filter(g=>g!=null)),c}function y(a,r=2){if(a===-1/0)return"−∞";if(Math.abs(a)>=1e5)return a.toExponential(1).replace("-","−");let i=a.toFixed(r);return Number(i)===0?i.replace("-",""):i.replace("-","−")}function B({label:a,options:r,value:i,part:c,onChange:g}){let u=r.map(v=>s("button",{type:"button",role:"radio","aria-checked":v.value===i?"true":"false",tabindex:v.value===i?0:-1,"data-value":v.value,on:{click:()=>g(v.value)}},v.text)),x=s("div",{class:"attnlab-choices",role:"radiogroup","aria-label":a,"data-part":c});return x.append(...u),x.addEventListener("keydown",v=>{let S={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[v.key],$=u.findIndex(E=>E===v.target);if(!S||$<0)return;v.preventDefault();let q=u[($+S+u.length)%u.length];R(x,q.dataset.value),q.focus(),g(q.dataset.value)}),x}function R(a,r){for(let i of a.querySelectorAll("button")){let c=i.dataset.value===r;i.setAttribute("aria-checked",String(c)),i.tabIndex=c?0:-1}}function D(a,r,i="query"){let c=Math.round(52*Math.min(Math.max(r,0),1)*10)/10;a.style.backgroundColor=`color-mix(in srgb, var(--fig-${i}) ${c}%, transparent)`}var V=a=>a.replace(/[&<>"]/g,r=>`&#${r.charCodeAt(0)};`);var F=`/* The figures carry their own colours: in Lab and Colab there is no book theme around them. */
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
`;function H(a){return{name:a.name,keys:a.keys,async render({model:r,el:i,signal:c,place:g={}}){let u=new AbortController;c?.addEventListener("abort",()=>u.abort()),st(i);let x=Object.fromEntries(a.keys.map(m=>[m,structuredClone(r.get(m))])),v=s("div",{class:"attnlab-body"}),S=s("p",{class:"attnlab-status",role:"status","data-part":"status"}),$=s("p",{class:"attnlab-error",role:"alert","data-part":"error",hidden:!0}),q=s("div",{class:"attnlab-bar",role:"group","aria-label":`${a.title}: actions`}),E=s("div",{class:"attnlab-root","data-lm-suppress-shortcuts":"true","data-figure":a.name},v,$,S,q);i.replaceChildren(E);let A,_=m=>{try{m(),$.hidden=!0}catch(w){console.warn("attnlab figure:",w),$.textContent=`This figure could not be drawn: ${w instanceof Error?w.message:w}`,$.hidden=!1}},W=()=>_(()=>A?.update()),O=m=>{for(let[w,T]of Object.entries(m))r.set(w,T);r.save_changes(),W()},L=m=>{S.textContent!==m&&(S.textContent=m)};try{A=await a.setup({model:r,body:v,say:L,set:O,signal:u.signal,place:g})}catch(m){return _(()=>{throw m}),()=>u.abort()}let Q=()=>Object.fromEntries(a.keys.map(m=>[m,r.get(m)]));q.append(C("Reset","reset",()=>(O(structuredClone(x)),"Reset.")),g.link?C("Copy link","link",()=>I(g.link(Q()))):"",C("Copy as PyTorch","pytorch",()=>I(A.pytorch())),C("Save SVG","svg",()=>ot(A.svg(),`attnlab-${a.name}.svg`))),W();for(let m of a.keys)r.on(`change:${m}`,W),u.signal.addEventListener("abort",()=>r.off?.(`change:${m}`,W));return()=>u.abort();function C(m,w,T){let K=s("button",{type:"button","data-part":w},m);return K.addEventListener("click",async()=>{try{L(await T())}catch(X){L(`That did not work: ${X instanceof Error?X.message:X}`)}}),K}async function I(m){E.querySelector(".attnlab-copied")?.remove();try{return await navigator.clipboard.writeText(m),"Copied."}catch{let w=s("textarea",{class:"attnlab-copied",readonly:!0,rows:Math.min(m.split(`
`).length,12),"aria-label":"Text to copy","data-part":"copied"});return w.value=m,q.after(w),w.focus(),w.select(),"The text is selected below: copy it with your keyboard."}}}}}function ot(a,r){let i=URL.createObjectURL(new Blob([a],{type:"image/svg+xml"}));return s("a",{href:i,download:r}).click(),setTimeout(()=>URL.revokeObjectURL(i),1e4),`Saved ${r}.`}function st(a){a.classList.add("attnlab-figure");let r=a.getRootNode(),i=r instanceof Document?r.head:r instanceof ShadowRoot?r:a;if(i.querySelector?.("style[data-attnlab]"))return;let c=s("style",{"data-attnlab":!0});c.textContent=F,i.append(c)}var j=(a,r)=>a.map(i=>r[0].map((c,g)=>i.reduce((u,x,v)=>u+x*r[v][g],0))),it=a=>a[0].map((r,i)=>a.map(c=>c[i]));function lt(a){let r=Math.max(...a);if(r===-1/0)return a.map(()=>0);let i=a.map(g=>Math.exp(g-r)),c=i.reduce((g,u)=>g+u,0);return i.map(g=>g/c)}function P({x:a,wq:r,wk:i,wv:c,scale:g=null,causal:u=!1}){let[x,v,S]=[r,i,c].map(_=>j(a,_)),$=j(x,it(v)),q=g??1/Math.sqrt(x[0].length),E=$.map((_,W)=>_.map((O,L)=>u&&L>W?-1/0:O*q)),A=E.map(lt);return{q:x,k:v,v:S,scores:$,factor:q,scaled:E,weights:A,output:j(A,S)}}var ct=["Input","Q, K, V","Scores","Scaled","Weights","Output"],ut=["one row of numbers for each token.","three views of every token: what it looks for, offers and passes on.","every query against every key.","the scores, made smaller so that their spread does not grow with the width.","each row becomes shares that sum to one.","each row is a weighted mean of the values."],z={X:"X",Wq:"W_q",Wk:"W_k",Wv:"W_v"},dt=["X","Q","S","scaled","A","O"],pt={X:"X",Wq:"W_q",Wk:"W_k",Wv:"W_v",Q:"Q = X W_q",K:"K = X W_k",V:"V = X W_v",S:"scores = Q Kᵀ",scaled:"scaled scores",A:"weights",O:"output = weights · V"},G={Wq:"query",Q:"query",Wk:"key",K:"key",Wv:"value",V:"value",O:"output"},U=1e6,$t=H({name:"calculator",title:"Attention calculator",keys:["X","W_q","W_k","W_v","tokens","stage","focus","scale","causal"],setup({model:a,body:r,say:i,set:c}){let g=[],u,x="",v=t=>c({stage:Math.min(Math.max(t,1),6),focus:[0,0]}),S=B({label:"Stage",part:"stages",value:String(a.get("stage")),options:ct.map((t,e)=>({value:String(e+1),text:`${e+1} ${t}`})),onChange:t=>v(Number(t))}),$=s("button",{type:"button","data-part":"previous",on:{click:()=>v(a.get("stage")-1)}},"← Back"),q=s("button",{type:"button","data-part":"next",on:{click:()=>v(a.get("stage")+1)}},"Next →"),E=s("button",{type:"button","data-part":"undo",on:{click:L}},"Undo"),A=s("input",{type:"checkbox","data-part":"causal",on:{change:()=>Q({causal:A.checked})}}),_=s("p",{class:"attnlab-formula","data-part":"formula","aria-live":"polite"}),W=s("div",{class:"attnlab-mats"}),O=s("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Weights and output"});r.append(S,s("div",{class:"attnlab-row"},$,q,E,s("label",{style:"display: inline-flex; gap: .4rem; align-items: center; min-height: 32px"},A,"hide later tokens")),W,_,s("details",{open:!0},s("summary",{},"Weights and output as a table"),O));function L(){let t=g.pop();t?c(t):i("There is nothing to undo.")}function Q(t){g.push(Object.fromEntries(Object.keys(t).map(e=>[e,structuredClone(a.get(e))]))),c(t)}function C(){let[t,e,n,o]=Object.values(z).map(d=>ft(d,a.get(d)));for(let[d,l]of[["W_q",e],["W_k",n],["W_v",o]])if(l.length!==t[0].length)throw new Error(`${d} must have as many rows as X has columns (${t[0].length}), it has ${l.length}.`);if(e[0].length!==n[0].length)throw new Error(`W_q and W_k must have as many columns as each other, they have ${e[0].length} and ${n[0].length}.`);return u=P({x:t,wq:e,wk:n,wv:o,scale:a.get("scale"),causal:!!a.get("causal")}),{X:t,Wq:e,Wk:n,Wv:o,Q:u.q,K:u.k,V:u.v,S:u.scores,scaled:u.scaled,A:u.weights,O:u.output}}function I(){let t=C(),e=Number(a.get("stage")),n=a.get("tokens");if(n.length!==t.X.length)throw new Error(`tokens must name the ${t.X.length} rows of X, it names ${n.length}.`);R(S,String(e)),$.disabled=e<=1,q.disabled=e>=6,A.checked=!!a.get("causal");let o=[["X"],["X","Wq","Wk","Wv","Q","K","V"],["Q","K","S"],["S","scaled"],["scaled","A"],["A","V","O"]][e-1],d=dt[e-1],l=m(t,d),b=JSON.stringify([e,n,o.map(f=>[t[f].length,t[f][0].length])]);b!==x&&(x=b,W.replaceChildren(...o.map(f=>w(f,t[f],n))));let h=tt(l);for(let f of o)Y(f,t[f],l,h);let p=et(t,l,n);_.textContent=p,Z(t,n),i(`Stage ${e} of 6: ${ut[e-1]}`)}function m(t,e){let n=a.get("focus"),o=n.length>2&&t[n[2]]?n[2]:e;return{name:o,row:Math.min(Number(n[0])||0,t[o].length-1),column:Math.min(Number(n[1])||0,t[o][0].length-1)}}function w(t,e,n){let o=!t.startsWith("W"),d=["S","scaled","A"].includes(t),l=e.map((h,p)=>s("tr",{},s("th",{scope:"row"},o?n[p]:String(p+1)),...h.map((f,k)=>{let N={"data-row":p,"data-column":k,"aria-label":`${t} row ${p+1} column ${k+1}`},M=t in z?T(t,p,k,N):K(t,p,k,N);return s("td",{class:"attnlab-cell"},M)}))),b=e[0].map((h,p)=>s("th",{scope:"col"},d?n[p]:String(p+1)));return s("div",{class:"attnlab-scroll"},s("table",{"data-part":`matrix-${t}`,on:{keydown:X}},s("caption",{class:G[t]?`is-${G[t]}`:""},pt[t]+(t==="scaled"?` = scores × ${y(u.factor,3)}`:"")),s("thead",{},s("tr",{},s("td",{style:"border: 0"}),...b)),s("tbody",{},...l)))}function T(t,e,n,o){let d=s("input",{...o,type:"text",inputmode:"decimal"}),l=z[t];return d.addEventListener("focus",()=>c({focus:[e,n,t]})),d.addEventListener("change",()=>{let b=J(d.value);if(d.setAttribute("aria-invalid",String(b===null)),b===null){i(`“${d.value}” is not a number from −${U} to ${U}. ${l} row ${e+1}, column ${n+1} stays ${y(a.get(l)[e][n])}.`);return}let h=structuredClone(a.get(l));h[e][n]=b,Q({[l]:h})}),d}function K(t,e,n,o){return s("button",{...o,type:"button",on:{click:()=>c({focus:[e,n,t]})}})}function X(t){let e=t.target,n={ArrowRight:[0,1],ArrowLeft:[0,-1],ArrowDown:[1,0],ArrowUp:[-1,0]}[t.key];if(t.key==="Enter"&&e.dispatchEvent(new Event("change")),!n||e instanceof HTMLInputElement&&n[1]&&e.selectionStart!==e.selectionEnd)return;let o=e.closest("table")?.querySelector(`[data-row="${Number(e.dataset.row)+n[0]}"][data-column="${Number(e.dataset.column)+n[1]}"]`);o instanceof HTMLElement&&(t.preventDefault(),o.focus(),o instanceof HTMLButtonElement&&o.click())}function Y(t,e,n,o){for(let d of W.querySelectorAll(`[data-part="matrix-${t}"] [data-row]`)){let l=d,[b,h]=[Number(l.dataset.row),Number(l.dataset.column)],p=e[b][h];l.tagName!=="INPUT"?(l.textContent=y(p,t==="A"?3:2),l.setAttribute("aria-label",`${l.textContent}, ${t} row ${b+1} column ${h+1}`)):(document.activeElement!==l||J(l.value)!==null)&&(l.value=String(p));let f=l.parentElement;f.classList.toggle("is-focus",n.name===t&&n.row===b&&n.column===h),f.classList.toggle("is-source",o(t,b,h)),t==="A"&&D(f,p)}}function Z(t,e){let n=["token",...e.map(o=>`takes of ${o}`),...t.O[0].map((o,d)=>`output ${d+1}`)];O.replaceChildren(s("table",{"data-part":"numbers"},s("thead",{},s("tr",{},...n.map(o=>s("th",{scope:"col"},o)))),s("tbody",{},...e.map((o,d)=>s("tr",{},s("th",{scope:"row"},o),...[...t.A[d],...t.O[d]].map(l=>s("td",{},l.toFixed(4))))))))}function tt({name:t,row:e,column:n}){let o={Q:["X","Wq"],K:["X","Wk"],V:["X","Wv"],S:["Q","K"],scaled:["S"],A:["scaled"],O:["A","V"]},[d,l]=o[t]??[];return(b,h,p)=>t==="scaled"?b==="S"&&h===e&&p===n:t==="S"?b==="Q"&&h===e||b==="K"&&h===n:b===d?h===e:b===l&&p===n}function et(t,{name:e,row:n,column:o},d){let l=t[e][n][o],b=(f,k)=>f.map((N,M)=>`${y(N)} × ${N===f[M]&&k[M]<0?`(${y(k[M])})`:y(k[M])}`).join(" + "),h=(f,k)=>f.map(N=>N[k]),p=`[${n+1}, ${o+1}]`;if(e in z){let f=e==="X"?`the vector of “${d[n]}”`:`what input ${n+1} adds to entry ${o+1}`;return`${z[e]}${p} = ${y(l)}: ${f}. Type to change it.`}if(e==="Q"||e==="K"||e==="V")return`${e}${p} = ${b(t.X[n],h(t[`W${e.toLowerCase()}`],o))} = ${y(l)}`;if(e==="S")return`score${p}: query of “${d[n]}” · key of “${d[o]}” = ${b(t.Q[n],t.K[o])} = ${y(l)}`;if(e==="scaled"){if(l===-1/0)return`scaled${p} = −∞: “${d[o]}” comes later and is hidden.`;let f=a.get("scale")===null||a.get("scale")===void 0?`/ √${t.Q[0].length}`:`× ${y(u.factor,3)}`;return`scaled${p} = ${y(t.S[n][o])} ${f} = ${y(l)}`}if(e==="A"){let f=t.scaled[n].map(k=>k===-1/0?"0":`e^${y(k)}`);return`weight${p} = ${f[o]} / (${f.join(" + ")}) = ${y(l,3)}: “${d[n]}” takes ${y(100*l,1)} % of “${d[o]}”`}return`output${p} = ${b(t.A[n],h(t.V,o))} = ${y(l)}`}function at(){let t=n=>`torch.tensor(${JSON.stringify(a.get(n))}, dtype=torch.float64)`,e=a.get("scale");return`import torch

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
`}function nt(){let{A:t}=C(),e=a.get("tokens"),n=t.flatMap((h,p)=>h.map((f,k)=>`<rect x="${80+k*64}" y="${36+p*40}" width="64" height="40" fill="#0069a8" fill-opacity="${(.52*f).toFixed(3)}" stroke="#d5dae0"/><text x="${112+k*64}" y="${61+p*40}">${y(f,3)}</text>`)),o=e.map((h,p)=>`<text x="40" y="${61+p*40}">${V(h)}</text>`),d=e.map((h,p)=>`<text x="${112+p*64}" y="26">${V(h)}</text>`),[l,b]=[90+64*e.length,46+40*e.length];return`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${l} ${b}" width="${l}" height="${b}" font-family="sans-serif" font-size="15" fill="#1b1f24" text-anchor="middle">${[...n,...o,...d].join("")}</svg>`}return{update:I,pytorch:at,svg:nt}}});function J(a){let r=a.trim().replace("−","-").replace(",","."),i=r===""?NaN:Number(r);return Number.isFinite(i)&&Math.abs(i)<=U?i:null}function ft(a,r){if(!(Array.isArray(r)&&r.length>0&&r.every(c=>Array.isArray(c)&&c.length>0&&c.length===r[0].length&&c.every(Number.isFinite))))throw new Error(`${a} must be rows of numbers, all of one length.`);return r}export{$t as default};
