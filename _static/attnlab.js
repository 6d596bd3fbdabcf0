"use strict";(()=>{function l(t,e={},...n){let a=document.createElement(t);for(let[o,r]of Object.entries(e))if(o==="on")for(let[d,u]of Object.entries(r))a.addEventListener(d,u);else r===!0?a.setAttribute(o,""):r!=null&&r!==!1&&a.setAttribute(o,String(r));return a.append(...n.filter(o=>o!=null)),a}function tt(t,e={},...n){let a=document.createElementNS("http://www.w3.org/2000/svg",t);for(let[o,r]of Object.entries(e))a.setAttribute(o,String(r));return a.append(...n),a}function L(t,e=2){if(t===-1/0)return"−∞";if(Math.abs(t)>=1e5)return t.toExponential(1).replace("-","−");let n=t.toFixed(e);return Number(n)===0?n.replace("-",""):n.replace("-","−")}function P({label:t,options:e,value:n,part:a,onChange:o}){let r=e.map(u=>l("button",{type:"button",role:"radio","aria-checked":u.value===n?"true":"false",tabindex:u.value===n?0:-1,"data-value":u.value,on:{click:()=>o(u.value)}},u.text)),d=l("div",{class:"attnlab-choices",role:"radiogroup","aria-label":t,"data-part":a});return d.append(...r),d.addEventListener("keydown",u=>{let f={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[u.key],b=r.findIndex(S=>S===u.target);if(!f||b<0)return;u.preventDefault();let v=r[(b+f+r.length)%r.length];B(d,v.dataset.value),v.focus(),o(v.dataset.value)}),d}function B(t,e){for(let n of t.querySelectorAll("button")){let a=n.dataset.value===e;n.setAttribute("aria-checked",String(a)),n.tabIndex=a?0:-1}}function Z(t,e,n="query"){let a=Math.round(52*Math.min(Math.max(e,0),1)*10)/10;t.style.backgroundColor=`color-mix(in srgb, var(--fig-${n}) ${a}%, transparent)`}var it=`/* The figures carry their own colours: in Lab and Colab there is no book theme around them. */
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
`;function G(t){return{name:t.name,keys:t.keys,async render({model:e,el:n,signal:a,place:o={}}){let r=new AbortController;a?.addEventListener("abort",()=>r.abort()),qt(n);let d=Object.fromEntries(t.keys.map(y=>[y,structuredClone(e.get(y))])),u=l("div",{class:"attnlab-body"}),f=l("p",{class:"attnlab-status",role:"status","data-part":"status"}),b=l("p",{class:"attnlab-error",role:"alert","data-part":"error",hidden:!0}),v=l("div",{class:"attnlab-bar",role:"group","aria-label":`${t.title}: actions`}),S=l("div",{class:"attnlab-root","data-lm-suppress-shortcuts":"true","data-figure":t.name},u,b,f,v);n.replaceChildren(S);let O,j=y=>{try{y(),b.hidden=!0}catch(q){console.warn("attnlab figure:",q),b.textContent=`This figure could not be drawn: ${q instanceof Error?q.message:q}`,b.hidden=!1}},W=()=>j(()=>O?.update()),_=y=>{for(let[q,U]of Object.entries(y))e.set(q,U);e.save_changes(),W()},E=y=>{f.textContent!==y&&(f.textContent=y)};try{O=await t.setup({model:e,body:u,say:E,set:_,signal:r.signal,place:o})}catch(y){return j(()=>{throw y}),()=>r.abort()}let R=()=>Object.fromEntries(t.keys.map(y=>[y,e.get(y)]));v.append(I("Reset","reset",()=>(_(structuredClone(d)),"Reset.")),o.link?I("Copy link","link",()=>X(o.link(R()))):"",I("Copy as PyTorch","pytorch",()=>X(O.pytorch())),I("Save SVG","svg",()=>St(O.svg(),`attnlab-${t.name}.svg`))),W();for(let y of t.keys)e.on(`change:${y}`,W),r.signal.addEventListener("abort",()=>e.off?.(`change:${y}`,W));return()=>r.abort();function I(y,q,U){let Q=l("button",{type:"button","data-part":q},y);return Q.addEventListener("click",async()=>{try{E(await U())}catch(N){E(`That did not work: ${N instanceof Error?N.message:N}`)}}),Q}async function X(y){S.querySelector(".attnlab-copied")?.remove();try{return await navigator.clipboard.writeText(y),"Copied."}catch{let q=l("textarea",{class:"attnlab-copied",readonly:!0,rows:Math.min(y.split(`
`).length,12),"aria-label":"Text to copy","data-part":"copied"});return q.value=y,v.after(q),q.focus(),q.select(),"The text is selected below: copy it with your keyboard."}}}}}function St(t,e){let n=URL.createObjectURL(new Blob([t],{type:"image/svg+xml"}));return l("a",{href:n,download:e}).click(),setTimeout(()=>URL.revokeObjectURL(n),1e4),`Saved ${e}.`}function qt(t){t.classList.add("attnlab-figure");let e=t.getRootNode(),n=e instanceof Document?e.head:e instanceof ShadowRoot?e:t;if(n.querySelector?.("style[data-attnlab]"))return;let a=l("style",{"data-attnlab":!0});a.textContent=it,n.append(a)}var et=(t,e)=>t.map(n=>e[0].map((a,o)=>n.reduce((r,d,u)=>r+d*e[u][o],0))),_t=t=>t[0].map((e,n)=>t.map(a=>a[n]));function H(t){let e=Math.max(...t);if(e===-1/0)return t.map(()=>0);let n=t.map(o=>Math.exp(o-e)),a=n.reduce((o,r)=>o+r,0);return n.map(o=>o/a)}function ct({x:t,wq:e,wk:n,wv:a,scale:o=null,causal:r=!1}){let[d,u,f]=[e,n,a].map(j=>et(t,j)),b=et(d,_t(u)),v=o??1/Math.sqrt(d[0].length),S=b.map((j,W)=>j.map((_,E)=>r&&E>W?-1/0:_*v)),O=S.map(H);return{q:d,k:u,v:f,scores:b,factor:v,scaled:S,weights:O,output:et(O,f)}}function lt(t,e,n){let a=t.length,o=0;for(let u=0;u<a;u++)o+=t[u]/a;let r=0;for(let u=0;u<a;u++)r+=(t[u]-o)**2/a;let d=Math.sqrt(r+1e-5);return Array.from({length:a},(u,f)=>(t[f]-o)/d*e[f]+n[f])}function ut(t,e){let n=t.slice();for(let a=0;a<t.length;a+=2){let o=e*1e4**(-a/t.length),[r,d]=[Math.cos(o),Math.sin(o)];n[a]=t[a]*r-t[a+1]*d,n[a+1]=t[a]*d+t[a+1]*r}return n}var Wt=["Input","Q, K, V","Scores","Scaled","Weights","Output"],Et=["one row of numbers for each token.","three views of every token: what it looks for, offers and passes on.","every query against every key.","the scores, made smaller so that their spread does not grow with the width.","each row becomes shares that sum to one.","each row is a weighted mean of the values."],J={X:"X",Wq:"W_q",Wk:"W_k",Wv:"W_v"},Mt=["X","Q","S","scaled","A","O"],Lt={X:"X",Wq:"W_q",Wk:"W_k",Wv:"W_v",Q:"Q = X W_q",K:"K = X W_k",V:"V = X W_v",S:"scores = Q Kᵀ",scaled:"scaled scores",A:"weights",O:"output = weights · V"},dt={Wq:"query",Q:"query",Wk:"key",K:"key",Wv:"value",V:"value",O:"output"},at=1e6,pt=G({name:"calculator",title:"Attention calculator",keys:["X","W_q","W_k","W_v","tokens","stage","focus","scale","causal"],setup({model:t,body:e,say:n,set:a}){let o=[],r,d="",u=s=>a({stage:Math.min(Math.max(s,1),6),focus:[0,0]}),f=P({label:"Stage",part:"stages",value:String(t.get("stage")),options:Wt.map((s,i)=>({value:String(i+1),text:`${i+1} ${s}`})),onChange:s=>u(Number(s))}),b=l("button",{type:"button","data-part":"previous",on:{click:()=>u(t.get("stage")-1)}},"← Back"),v=l("button",{type:"button","data-part":"next",on:{click:()=>u(t.get("stage")+1)}},"Next →"),S=l("button",{type:"button","data-part":"undo",on:{click:E}},"Undo"),O=l("input",{type:"checkbox","data-part":"causal",on:{change:()=>R({causal:O.checked})}}),j=l("p",{class:"attnlab-formula","data-part":"formula","aria-live":"polite"}),W=l("div",{class:"attnlab-mats"}),_=l("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Weights and output"});e.append(f,l("div",{class:"attnlab-row"},b,v,S,l("label",{style:"display: inline-flex; gap: .4rem; align-items: center; min-height: 32px"},O,"hide later tokens")),W,j,l("details",{open:!0},l("summary",{},"Weights and output as a table"),_));function E(){let s=o.pop();s?a(s):n("There is nothing to undo.")}function R(s){o.push(Object.fromEntries(Object.keys(s).map(i=>[i,structuredClone(t.get(i))]))),a(s)}function I(){let[s,i,c,p]=Object.values(J).map(m=>Ot(m,t.get(m)));for(let[m,h]of[["W_q",i],["W_k",c],["W_v",p]])if(h.length!==s[0].length)throw new Error(`${m} must have as many rows as X has columns (${s[0].length}), it has ${h.length}.`);if(i[0].length!==c[0].length)throw new Error(`W_q and W_k must have as many columns as each other, they have ${i[0].length} and ${c[0].length}.`);return r=ct({x:s,wq:i,wk:c,wv:p,scale:t.get("scale"),causal:!!t.get("causal")}),{X:s,Wq:i,Wk:c,Wv:p,Q:r.q,K:r.k,V:r.v,S:r.scores,scaled:r.scaled,A:r.weights,O:r.output}}function X(){let s=I(),i=Number(t.get("stage")),c=t.get("tokens");if(c.length!==s.X.length)throw new Error(`tokens must name the ${s.X.length} rows of X, it names ${c.length}.`);B(f,String(i)),b.disabled=i<=1,v.disabled=i>=6,O.checked=!!t.get("causal");let p=[["X"],["X","Wq","Wk","Wv","Q","K","V"],["Q","K","S"],["S","scaled"],["scaled","A"],["A","V","O"]][i-1],m=Mt[i-1],h=y(s,m),k=JSON.stringify([i,c,p.map(w=>[s[w].length,s[w][0].length])]);k!==d&&(d=k,W.replaceChildren(...p.map(w=>q(w,s[w],c))));let M=A(h);for(let w of p)F(w,s[w],h,M);let $=C(s,h,c);j.textContent=$,g(s,c),n(`Stage ${i} of 6: ${Et[i-1]}`)}function y(s,i){let c=t.get("focus"),p=c.length>2&&s[c[2]]?c[2]:i;return{name:p,row:Math.min(Number(c[0])||0,s[p].length-1),column:Math.min(Number(c[1])||0,s[p][0].length-1)}}function q(s,i,c){let p=!s.startsWith("W"),m=["S","scaled","A"].includes(s),h=i.map((M,$)=>l("tr",{},l("th",{scope:"row"},p?c[$]:String($+1)),...M.map((w,z)=>{let D={"data-row":$,"data-column":z,"aria-label":`${s} row ${$+1} column ${z+1}`},V=s in J?U(s,$,z,D):Q(s,$,z,D);return l("td",{class:"attnlab-cell"},V)}))),k=i[0].map((M,$)=>l("th",{scope:"col"},m?c[$]:String($+1)));return l("div",{class:"attnlab-scroll"},l("table",{"data-part":`matrix-${s}`,on:{keydown:N}},l("caption",{class:dt[s]?`is-${dt[s]}`:""},Lt[s]+(s==="scaled"?` = scores × ${L(r.factor,3)}`:"")),l("thead",{},l("tr",{},l("td",{style:"border: 0"}),...k)),l("tbody",{},...h)))}function U(s,i,c,p){let m=l("input",{...p,type:"text",inputmode:"decimal"}),h=J[s];return m.addEventListener("focus",()=>a({focus:[i,c,s]})),m.addEventListener("change",()=>{let k=ft(m.value);if(m.setAttribute("aria-invalid",String(k===null)),k===null){n(`“${m.value}” is not a number from −${at} to ${at}. ${h} row ${i+1}, column ${c+1} stays ${L(t.get(h)[i][c])}.`);return}let M=structuredClone(t.get(h));M[i][c]=k,R({[h]:M})}),m}function Q(s,i,c,p){return l("button",{...p,type:"button",on:{click:()=>a({focus:[i,c,s]})}})}function N(s){let i=s.target,c={ArrowRight:[0,1],ArrowLeft:[0,-1],ArrowDown:[1,0],ArrowUp:[-1,0]}[s.key];if(s.key==="Enter"&&i.dispatchEvent(new Event("change")),!c||i instanceof HTMLInputElement&&c[1]&&i.selectionStart!==i.selectionEnd)return;let p=i.closest("table")?.querySelector(`[data-row="${Number(i.dataset.row)+c[0]}"][data-column="${Number(i.dataset.column)+c[1]}"]`);p instanceof HTMLElement&&(s.preventDefault(),p.focus(),p instanceof HTMLButtonElement&&p.click())}function F(s,i,c,p){for(let m of W.querySelectorAll(`[data-part="matrix-${s}"] [data-row]`)){let h=m,[k,M]=[Number(h.dataset.row),Number(h.dataset.column)],$=i[k][M];h.tagName!=="INPUT"?(h.textContent=L($,s==="A"?3:2),h.setAttribute("aria-label",`${h.textContent}, ${s} row ${k+1} column ${M+1}`)):(document.activeElement!==h||ft(h.value)!==null)&&(h.value=String($));let w=h.parentElement;w.classList.toggle("is-focus",c.name===s&&c.row===k&&c.column===M),w.classList.toggle("is-source",p(s,k,M)),s==="A"&&Z(w,$)}}function g(s,i){let c=["token",...i.map(p=>`takes of ${p}`),...s.O[0].map((p,m)=>`output ${m+1}`)];_.replaceChildren(l("table",{"data-part":"numbers"},l("thead",{},l("tr",{},...c.map(p=>l("th",{scope:"col"},p)))),l("tbody",{},...i.map((p,m)=>l("tr",{},l("th",{scope:"row"},p),...[...s.A[m],...s.O[m]].map(h=>l("td",{},h.toFixed(4))))))))}function A({name:s,row:i,column:c}){let p={Q:["X","Wq"],K:["X","Wk"],V:["X","Wv"],S:["Q","K"],scaled:["S"],A:["scaled"],O:["A","V"]},[m,h]=p[s]??[];return(k,M,$)=>s==="scaled"?k==="S"&&M===i&&$===c:s==="S"?k==="Q"&&M===i||k==="K"&&M===c:k===m?M===i:k===h&&$===c}function C(s,{name:i,row:c,column:p},m){let h=s[i][c][p],k=(w,z)=>w.map((D,V)=>`${L(D)} × ${D===w[V]&&z[V]<0?`(${L(z[V])})`:L(z[V])}`).join(" + "),M=(w,z)=>w.map(D=>D[z]),$=`[${c+1}, ${p+1}]`;if(i in J){let w=i==="X"?`the vector of “${m[c]}”`:`what input ${c+1} adds to entry ${p+1}`;return`${J[i]}${$} = ${L(h)}: ${w}. Type to change it.`}if(i==="Q"||i==="K"||i==="V")return`${i}${$} = ${k(s.X[c],M(s[`W${i.toLowerCase()}`],p))} = ${L(h)}`;if(i==="S")return`score${$}: query of “${m[c]}” · key of “${m[p]}” = ${k(s.Q[c],s.K[p])} = ${L(h)}`;if(i==="scaled"){if(h===-1/0)return`scaled${$} = −∞: “${m[p]}” comes later and is hidden.`;let w=t.get("scale")===null||t.get("scale")===void 0?`/ √${s.Q[0].length}`:`× ${L(r.factor,3)}`;return`scaled${$} = ${L(s.S[c][p])} ${w} = ${L(h)}`}if(i==="A"){let w=s.scaled[c].map(z=>z===-1/0?"0":`e^${L(z)}`);return`weight${$} = ${w[p]} / (${w.join(" + ")}) = ${L(h,3)}: “${m[c]}” takes ${L(100*h,1)} % of “${m[p]}”`}return`output${$} = ${k(s.A[c],M(s.V,p))} = ${L(h)}`}function T(){let s=c=>`torch.tensor(${JSON.stringify(t.get(c))}, dtype=torch.float64)`,i=t.get("scale");return`import torch

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
`}function x(){let{A:s}=I(),i=t.get("tokens"),c=$=>$.replace(/[&<>"]/g,w=>`&#${w.charCodeAt(0)};`),p=s.flatMap(($,w)=>$.map((z,D)=>`<rect x="${80+D*64}" y="${36+w*40}" width="64" height="40" fill="#0069a8" fill-opacity="${(.52*z).toFixed(3)}" stroke="#d5dae0"/><text x="${112+D*64}" y="${61+w*40}">${L(z,3)}</text>`)),m=i.map(($,w)=>`<text x="40" y="${61+w*40}">${c($)}</text>`),h=i.map(($,w)=>`<text x="${112+w*64}" y="26">${c($)}</text>`),[k,M]=[90+64*i.length,46+40*i.length];return`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${k} ${M}" width="${k}" height="${M}" font-family="sans-serif" font-size="15" fill="#1b1f24" text-anchor="middle">${[...p,...m,...h].join("")}</svg>`}return{update:X,pytorch:T,svg:x}}});function ft(t){let e=t.trim().replace("−","-").replace(",","."),n=e===""?NaN:Number(e);return Number.isFinite(n)&&Math.abs(n)<=at?n:null}function Ot(t,e){if(!(Array.isArray(e)&&e.length>0&&e.every(a=>Array.isArray(a)&&a.length>0&&a.length===e[0].length&&a.every(Number.isFinite))))throw new Error(`${t} must be rows of numbers, all of one length.`);return e}var bt=["n't","'s","'m","'re","'ve","'ll","'d"],gt=new Set(`mr. mrs. ms. dr. prof. st. jr. sr. vs. etc. inc. co. corp. ltd. gen. rep. sen. gov. lt. col. no. ph.d. fig.
al. jan. feb. mar. apr. jun. jul. aug. sep. sept. oct. nov. dec. ave. blvd. rd. approx. dept. est.`.split(/\s+/)),Ct=/^(?:(?:[A-Za-z][A-Za-z0-9+.-]*:\/\/|[Ww][Ww][Ww]\.)[^ ]|[^@]+@[^@.]+\.[^@])/u,Nt=/^(?:[A-Za-z]\.)+[A-Za-z]?\.?$/,Tt=t=>/^[\p{Z}\p{Cc}]$/u.test(t),K=t=>/^[\p{L}\p{M}\p{N}_]$/u.test(t),nt=t=>/^\p{N}$/u.test(t),jt=t=>/^[\p{M}\p{Cf}\p{Sk}]$/u.test(t)&&t.codePointAt(0)>127,It=t=>t.replaceAll("’","'").toLowerCase();function ot(t){let e=Array.from(t,o=>/^[\ud800-\udfff]$/.test(o)?"�":o),n=[],a="";for(let o of[...e," "])Tt(o)?a&&(n.push(...Rt(a)),a=""):a+=o;return n}function mt(t){let e=Array.from(t.toLowerCase()),n="",a="",o=0;for(let r of t){let d=zt(r);o=d===a?o+1:1,a=d,o<=2&&(n+=d)}return[`w=${e.join("")}`,...[1,2,3].map(r=>`p${r}=${e.slice(0,r).join("")}`),...[1,2,3,4].map(r=>`s${r}=${e.slice(-r).join("")}`),`shape=${Array.from(n).slice(0,8).join("")}`]}function yt(t,e,n){let a=(2166136261^e)>>>0;for(let o of new TextEncoder().encode(t))a=Math.imul(a^o,16777619)>>>0;return a%n}function zt(t){return/^[\p{Lu}\p{Lt}]$/u.test(t)?"X":/^\p{L}$/u.test(t)?"x":nt(t)?"d":t}function Rt(t){let[e,...n]=Xt(t),[a,o]=n,r=a+o;return gt.has(r.toLowerCase())||Nt.test(r)&&r.slice(0,-1).includes(".")?[a,o]=[r,""]:o.startsWith(".")&&gt.has(`${a}.`.toLowerCase())&&([a,o]=[`${a}.`,o.slice(1)]),[...ht(e),...Ct.test(a)?[a]:Ut(a),...ht(o)]}function Xt(t){if(bt.includes(It(t)))return["",t,""];let e=Array.from(t),n=e.findIndex(K);if(n<0)return[t,"",""];let a=e.findLastIndex(K)+1;return[e.slice(0,n),e.slice(n,a),e.slice(a)].map(o=>o.join(""))}function ht(t){let e=[];for(let n of t){let a=e.length?Array.from(e[e.length-1]).at(-1):"";a&&(n===a||jt(n)||a==="‍")?e[e.length-1]+=n:e.push(n)}return e}function Ut(t){if(!t)return[];let e=Array.from(t),n=[],a=0;for(let r=1;r<e.length-1;r++)!K(e[r])&&!Ft(e,r)&&(n.push(e.slice(a,r).join(""),e[r]),a=r+1);n.push(e.slice(a).join(""));let o=[];for(let r of n.filter(Boolean)){let d=Array.from(r),u=o.length?Array.from(o[o.length-1]).at(-1):"";d.length===1&&!K(r)&&r===u?o[o.length-1]+=r:o.push(...Dt(r))}return o}function Ft(t,e){let[n,a,o]=[t[e-1],t[e],t[e+1]];return!K(n)||!K(o)?!1:".,:".includes(a)?nt(n)&&nt(o)||a===".":"'’&".includes(a)}function Dt(t){let e=Array.from(t),n=Array.from(t.toLowerCase().replaceAll("’","'"));if(n.length!==e.length)return[t];let a=n.join("");if(a==="cannot")return[t.slice(0,3),t.slice(3)];for(let o of bt)if(a.endsWith(o)&&n.length>o.length){let r=e.length-o.length;return[e.slice(0,r).join(""),e.slice(r).join("")]}return[t]}function rt(t){let e=new DataView(t.buffer,t.byteOffset,t.byteLength),n=Number(e.getBigUint64(0,!0)),a=JSON.parse(new TextDecoder().decode(t.subarray(8,8+n))),o={};for(let[d,{dtype:u,shape:f,data_offsets:b}]of Object.entries(a)){if(d==="__metadata__")continue;let[v,S]=b.map(W=>W+8+n),O=new Uint8Array(t.subarray(v,S)),j=u==="F32"?new Float32Array(O.buffer):u==="I8"?new Int8Array(O.buffer):O;o[d]={shape:f,dtype:u,data:Float64Array.from(j)}}let r={};for(let[d,u]of Object.entries(o))if(!d.endsWith(".scale"))if(!d.endsWith(".q"))r[d]=u;else{let f=d.slice(0,-2),b=o[`${f}.scale`].data;r[f]=u.dtype==="U8"?Qt(u,b):Vt(u,b)}return{card:JSON.parse(a.__metadata__.card),tensors:r}}function Qt({shape:[t,e],data:n},a){let o=2*e,r=new Float64Array(t*o);for(let d=0;d<t;d++)for(let u=0;u<e;u++){let f=n[d*e+u];r[d*o+u]=Math.fround(((f&15)-8)*a[u]),r[d*o+e+u]=Math.fround(((f>>4)-8)*a[e+u])}return{shape:[t,o],data:r}}function Vt({shape:t,data:e},n){return{shape:t,data:e.map((a,o)=>Math.fround(a*n[Math.floor(o/t[1])]))}}function $t({card:t,tensors:e},n){let{n_buckets:a,d_model:o,n_heads:r,n_layers:d,seeds:u}=t.form,f=e["table.weight"].data,b=n.map(_=>{let E=new Array(o).fill(0);for(let R of mt(_))for(let I of u){let X=yt(R,I,a)*o;for(let y=0;y<o;y++)E[y]+=f[X+y]}return E}),v=(_,E)=>{let{shape:R,data:I}=e[`${E}.weight`],X=Array.from(e[`${E}.bias`].data);for(let y=0;y<R[0];y++)for(let q=0;q<R[1];q++)X[y]+=I[y*R[1]+q]*_[q];return X},S=(_,E)=>lt(_,e[`${E}.weight`].data,e[`${E}.bias`].data),O=[];for(let _=0;_<d;_++){let E=`layers.${_}`,R=b.map(N=>S(N,`${E}.norm`)),[I,X,y]=["q","k","v"].map(N=>R.map(F=>v(F,`${E}.attention.${N}_proj`))),q=I.length?I[0].length/r:0,U=[],Q=n.map(()=>[]);for(let N=0;N<r;N++){let F=C=>C.slice(N*q,(N+1)*q),g=[I,X].map(C=>C.map((T,x)=>ut(F(T),x))),A=g[0].map(C=>H(g[1].map(T=>C.reduce((x,s,i)=>x+s*T[i],0)/Math.sqrt(q))));U.push(A),A.forEach((C,T)=>{for(let x=0;x<q;x++)Q[T].push(C.reduce((s,i,c)=>s+i*y[c][N*q+x],0))})}O.push(U),b=b.map((N,F)=>vt(N,v(Q[F],`${E}.attention.out_proj`))),b=b.map(N=>{let F=v(S(N,`${E}.norm2`),`${E}.up`).map(g=>Math.max(g,0));return vt(N,v(F,`${E}.down`))})}let j=b.map(_=>H(v(S(_,"norm"),"out"))),W=j.map(_=>t.tags[_.indexOf(Math.max(..._))]);return{tokens:n,tags:W,probabilities:j,weights:O}}var vt=(t,e)=>t.map((n,a)=>n+e[a]);var Y=128,wt=["I saw a saw","What do you do?","There were many hotels there.","Can you open the can?"];function st(t,e){let n=t.flat(),[a,o]=e.split(".").map(Number),r=t[a-1]?.[o-1];if(r)return r;let d=n[0]?.length??0;return Array.from({length:d},(u,f)=>Array.from({length:d},(b,v)=>n.reduce((S,O)=>S+O[f][v],0)/n.length))}async function Kt(t,e){let n=t.get("model");if(n?.byteLength)return rt(new Uint8Array(n.buffer??n,n.byteOffset??0,n.byteLength));let a=()=>globalThis.attnlabModels?.tagger;return a()||await new Promise((o,r)=>{let d=document.createElement("script");d.src=new URL("models/tagger-model.js",e??document.baseURI).href,d.onload=o,d.onerror=()=>r(new Error("its weights (models/tagger-model.js) did not load. Reload the page.")),document.head.append(d)}),rt(Uint8Array.from(atob(a()),o=>o.charCodeAt(0)))}var xt=G({name:"tag",title:"Tag a sentence",keys:["sentence","word","head"],async setup({model:t,body:e,say:n,set:a,signal:o,place:r}){let d=await Kt(t,r.base),{card:u}=d,f,b="",v=0,S=l("input",{type:"text","aria-label":"A sentence to tag","data-part":"sentence",autocomplete:"off",spellcheck:"false",dir:"auto",on:{input:()=>a({sentence:S.value,word:-1})}}),O=l("div",{class:"attnlab-row attnlab-examples"},l("span",{class:"attnlab-label"},"Try"));for(let g of wt){let A=()=>a({sentence:g,word:g===wt[0]?3:-1});O.append(l("button",{type:"button","data-part":"example",on:{click:A}},g))}let j=P({label:"Which attention head",part:"heads",value:t.get("head"),options:[{value:"mean",text:"all heads"},...Array.from({length:u.form.n_layers*u.form.n_heads},(g,A)=>{let[C,T]=[Math.floor(A/u.form.n_heads)+1,A%u.form.n_heads+1],x=u.form.n_layers>1?`${C}.${T}`:String(T);return{value:`${C}.${T}`,text:x}})],onChange:g=>a({head:g})}),W=l("div",{class:"attnlab-tokens",role:"radiogroup","aria-label":"The words, each with its tag",on:{keydown:y}}),_=l("p",{"data-part":"alternatives"}),E=l("tbody"),R=l("table",{"data-part":"numbers"},l("caption",{},"Every number"),l("thead",{},l("tr",{},...["word","tag","probability","weight"].map(g=>l("th",{scope:"col"},g)))),E),I=u.form.n_layers>1?" (layer.head; layers look one after the other)":"";e.append(S,O,l("div",{class:"attnlab-row"},l("span",{class:"attnlab-label"},`Attention of${I}`),j),W,_,l("details",{},l("summary",{},"The numbers as a table"),l("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":"Table of numbers"},R)),l("p",{class:"attnlab-note","data-part":"card"},`Trained on ${u.data} (${u.licence}); ${u.accuracy.test} % of its test words come out right. It knows no more English than that.`));let X=new ResizeObserver(()=>F());X.observe(W),o.addEventListener("abort",()=>X.disconnect());function y(g){let A={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[g.key],C=f.tokens.length;!A||!C||(g.preventDefault(),a({word:(Math.max(t.get("word"),0)+A+C)%C}),W.querySelector('[tabindex="0"]')?.focus())}function q(){let g=String(t.get("sentence")??"");if(f&&g===b)return;b=g;let A=ot(g);v=Math.max(A.length-Y,0),f=$t(d,A.slice(0,Y))}let U=()=>{let g=Number(t.get("word")??-1);return g>=0&&g<f.tokens.length?g:-1};function Q(){q(),S.value!==b&&(S.value=b),B(j,t.get("head"));let g=U(),A=g<0?[]:st(f.weights,t.get("head"))[g],C=W.contains(document.activeElement);W.replaceChildren(...f.tokens.map((T,x)=>{let s=Math.max(...f.probabilities[x]),i=l("button",{type:"button",class:"attnlab-token",role:"radio","aria-checked":x===g?"true":"false",tabindex:x===Math.max(g,0)?0:-1,"data-part":"token",on:{click:()=>a({word:x})}},l("b",{dir:"auto"},T),l("span",{},f.tags[x]),l("i",{},g<0?`${L(100*s,0)} %`:`gives ${L(100*A[x],0)} %`));return g>=0&&Z(i,A[x]),i})),C&&W.querySelector('[tabindex="0"]')?.focus(),E.replaceChildren(...f.tokens.map((T,x)=>l("tr",{},l("th",{scope:"row",dir:"auto"},T),l("td",{},f.tags[x]),l("td",{},Math.max(...f.probabilities[x]).toFixed(4)),l("td",{},g<0?"–":A[x].toFixed(4))))),N(g,A),F()}function N(g,A){if(!f.tokens.length){_.textContent="",n("Type a sentence: there is nothing to tag yet.");return}let C=v?` Only the first ${Y} of ${Y+v} words are shown.`:"";if(g<0){_.textContent="Pick a word to see where the tagger looked.",n(f.tokens.map((i,c)=>`${i} ${f.tags[c]}`).join(", ")+"."+C);return}let T=f.probabilities[g].map((i,c)=>({p:i,tag:u.tags[c]})).sort((i,c)=>c.p-i.p).slice(0,3);_.textContent=T.map(({p:i,tag:c})=>`${c} ${L(100*i,1)} %`).join(" · ");let x=A.indexOf(Math.max(...A)),s=x===g?"itself":`“${f.tokens[x]}” (word ${x+1})`;n(`“${f.tokens[g]}” (word ${g+1}) is ${f.tags[g]}. It takes most from ${s}: ${L(100*A[x],0)} %.${C}`)}function F(){W.querySelector("svg")?.remove();let g=U(),A=[...W.querySelectorAll(".attnlab-token")],C=A.length>1&&A.every(c=>c.offsetTop===A[0].offsetTop),T=g>=0&&C&&W.clientWidth>480;if(W.classList.toggle("has-arcs",T),!T)return;let x=st(f.weights,t.get("head"))[g],s=tt("svg",{class:"attnlab-arcs","aria-hidden":"true","data-part":"arcs"}),i=A.map(c=>c.offsetLeft+c.offsetWidth/2);A.forEach((c,p)=>{if(x[p]<.02)return;let[m,h]=[i[g],i[p]],k=p===g?26:Math.min(24+Math.abs(h-m)*.16,76),M=p===g?`M ${m-9} 82 C ${m-22} ${82-k*1.4}, ${m+22} ${82-k*1.4}, ${m+9} 82`:`M ${m} 82 C ${m} ${82-k}, ${h} ${82-k}, ${h} 82`;s.append(tt("path",{d:M,fill:"none",stroke:"var(--fig-query)","stroke-width":(1+9*x[p]).toFixed(2),"stroke-opacity":(.25+.7*x[p]).toFixed(2),"stroke-linecap":"round"}))}),W.prepend(s)}return{update:Q,pytorch:()=>Bt(b,U(),t.get("head")),svg:()=>Jt(f,U(),t.get("head"))}}});function Bt(t,e,n){let[a,o]=n.split(".").map(Number),r=n==="mean"?"tagged.weights.mean((0, 1))":`tagged.weights[${a-1}, ${o-1}]`,d=e<0?"":`weights = ${r}[${e}]  # how much word ${e} takes of each word
`;return`from attnlab.tagging import shipped

tagged = shipped.load().tag(${JSON.stringify(t)})
${d}for i, (token, tag) in enumerate(zip(tagged.tokens, tagged.tags)):
    print(token, tag, round(tagged.probabilities[i].max().item(), 4)${e<0?"":", round(weights[i].item(), 4)"})
`}function Jt(t,e,n){let a=e<0?[]:st(t.weights,n)[e],o=110,r=f=>f.replace(/[&<>"]/g,b=>`&#${b.charCodeAt(0)};`),d=t.tokens.map((f,b)=>{let v=10+b*o,S=a[b]??0;return`<rect x="${v}" y="10" width="${o-8}" height="76" rx="8" fill="#0069a8" fill-opacity="${(.52*S).toFixed(3)}" stroke="${b===e?"#0069a8":"#d5dae0"}" stroke-width="2"/><text x="${v+51}" y="36" font-size="18">${r(f)}</text><text x="${v+51}" y="57" font-size="13">${t.tags[b]}</text><text x="${v+51}" y="76" font-size="13">${e<0?"":`${L(100*S,0)} %`}</text>`}),u=12+t.tokens.length*o;return`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${u} 96" width="${u}" height="96" font-family="sans-serif" fill="#1b1f24" text-anchor="middle">${d.join("")}</svg>`}var Pt=Object.fromEntries([pt,xt].map(t=>[t.name,t])),Zt=document.currentScript,Gt=new URL(".",Zt?.src||document.baseURI).href;function Ht(t){let e=t.dataset.attnlab??"",n=Pt[e];if(!n||t.dataset.mounted)return;t.dataset.mounted="true";let a=[...document.querySelectorAll(`figure[data-attnlab="${e}"]`)].indexOf(t),o=a?`${e}-${a+1}`:e;t.id||=`figure-${o}`;let r=JSON.parse(t.dataset.settings??"{}"),d=new URLSearchParams(location.search).get(o);d&&Object.assign(r,Yt(d,n.keys));let u=t.querySelector("figcaption"),f=document.createElement("div");t.replaceChildren(f,...u?[u]:[]);let b=v=>{let S=new URL(location.href);return S.searchParams.set(o,JSON.stringify(v)),S.hash=t.id,S.href};n.render({model:te(r),el:f,place:{base:Gt,link:b}})}function Yt(t,e){try{let n=JSON.parse(t);return Object.fromEntries(Object.entries(n).filter(([a])=>e.includes(a)))}catch{return{}}}function te(t){return{get:e=>t[e],set:(e,n)=>{t[e]=n},save_changes(){},on(){}}}var kt=()=>document.querySelectorAll("figure[data-attnlab]").forEach(t=>Ht(t));document.readyState==="loading"?document.addEventListener("DOMContentLoaded",kt):kt();})();
