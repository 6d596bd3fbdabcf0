function l(t,e={},...a){let r=document.createElement(t);for(let[n,i]of Object.entries(e))if(n==="on")for(let[d,u]of Object.entries(i))r.addEventListener(d,u);else i===!0?r.setAttribute(n,""):i!=null&&i!==!1&&r.setAttribute(n,String(i));return r.append(...a.filter(n=>n!=null)),r}function L(t,e={},...a){let r=document.createElementNS("http://www.w3.org/2000/svg",t);for(let[n,i]of Object.entries(e))r.setAttribute(n,String(i));return r.append(...a),r}function D(t,e=2){if(t===-1/0)return"−∞";if(Math.abs(t)>=1e5)return t.toExponential(1).replace("-","−");let a=t.toFixed(e);return Number(a)===0?a.replace("-",""):a.replace("-","−")}function K({label:t,options:e,value:a,part:r,onChange:n}){let i=e.map(u=>l("button",{type:"button",role:"radio","aria-checked":u.value===a?"true":"false",tabindex:u.value===a?0:-1,"data-value":u.value,on:{click:()=>n(u.value)}},u.text)),d=l("div",{class:"attnlab-choices",role:"radiogroup","aria-label":t,"data-part":r});return d.append(...i),d.addEventListener("keydown",u=>{let b={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[u.key],h=i.findIndex(v=>v===u.target);if(!b||h<0)return;u.preventDefault();let p=i[(h+b+i.length)%i.length];I(d,p.dataset.value),p.focus(),n(p.dataset.value)}),d}function I(t,e){for(let a of t.querySelectorAll("button")){let r=a.dataset.value===e;a.setAttribute("aria-checked",String(r)),a.tabIndex=r?0:-1}}function P(t,e,a="query"){let r=Math.round(52*Math.min(Math.max(e,0),1)*10)/10;t.style.backgroundColor=`color-mix(in srgb, var(--fig-${a}) ${r}%, transparent)`}var lt={query:"#0069a8",key:"#b04a00",value:"#00795a",output:"#a0307a",ink:"#1b1f24",line:"#d5dae0"};function J(t){let e=t.cloneNode(!0);return e.setAttribute("xmlns","http://www.w3.org/2000/svg"),Object.entries(lt).reduce((a,[r,n])=>a.replaceAll(`var(--fig-${r})`,n),e.outerHTML)}var Q=`/* The figures carry their own colours: in Lab and Colab there is no book theme around them. */
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
`;function H(t){return{name:t.name,keys:t.keys,async render({model:e,el:a,signal:r,place:n={}}){let i=new AbortController;r?.addEventListener("abort",()=>i.abort()),ut(a);let d=Object.fromEntries(t.keys.map(f=>[f,structuredClone(e.get(f))])),u=l("div",{class:"attnlab-body"}),b=l("p",{class:"attnlab-status",role:"status","data-part":"status"}),h=l("p",{class:"attnlab-error",role:"alert","data-part":"error",hidden:!0}),p=l("div",{class:"attnlab-bar",role:"group","aria-label":`${t.title}: actions`}),v=l("div",{class:"attnlab-root","data-lm-suppress-shortcuts":"true","data-figure":t.name},u,h,b,p);a.replaceChildren(v);let q,_=f=>{try{f(),h.hidden=!0}catch(y){console.warn("attnlab figure:",y),h.textContent=`This figure could not be drawn: ${y instanceof Error?y.message:y}`,h.hidden=!1}},x=()=>_(()=>q?.update()),E=f=>{for(let[y,o]of Object.entries(f))e.set(y,o);e.save_changes(),x()},C=f=>{b.textContent!==f&&(b.textContent=f)};try{q=await t.setup({model:e,body:u,say:C,set:E,signal:i.signal,place:n})}catch(f){return _(()=>{throw f}),()=>i.abort()}let j=()=>Object.fromEntries(t.keys.map(f=>[f,e.get(f)]));p.append(M("Reset","reset",()=>(E(structuredClone(d)),"Reset.")),n.link?M("Copy link","link",()=>N(n.link(j()))):"",M("Copy as PyTorch","pytorch",()=>N(q.pytorch())),M("Save SVG","svg",()=>dt(q.svg(),`attnlab-${t.name}.svg`))),x();for(let f of t.keys)e.on(`change:${f}`,x),i.signal.addEventListener("abort",()=>e.off?.(`change:${f}`,x));return()=>i.abort();function M(f,y,o){let s=l("button",{type:"button","data-part":y},f);return s.addEventListener("click",async()=>{try{C(await o())}catch(c){C(`That did not work: ${c instanceof Error?c.message:c}`)}}),s}async function N(f){v.querySelector(".attnlab-copied")?.remove();try{return await navigator.clipboard.writeText(f),"Copied."}catch{let y=l("textarea",{class:"attnlab-copied",readonly:!0,rows:Math.min(f.split(`
`).length,12),"aria-label":"Text to copy","data-part":"copied"});return y.value=f,p.after(y),y.focus(),y.select(),"The text is selected below: copy it with your keyboard."}}}}}function dt(t,e){let a=URL.createObjectURL(new Blob([t],{type:"image/svg+xml"}));return l("a",{href:a,download:e}).click(),setTimeout(()=>URL.revokeObjectURL(a),1e4),`Saved ${e}.`}function ut(t){t.classList.add("attnlab-figure");let e=t.getRootNode(),a=e instanceof Document?e.head:e instanceof ShadowRoot?e:t;if(a.querySelector?.("style[data-attnlab]"))return;let r=l("style",{"data-attnlab":!0});r.textContent=Q,a.append(r)}var B=(t,e)=>t.map(a=>e[0].map((r,n)=>a.reduce((i,d,u)=>i+d*e[u][n],0)));function X(t){let e=Math.max(...t);if(e===-1/0)return t.map(()=>0);let a=t.map(n=>Math.exp(n-e)),r=a.reduce((n,i)=>n+i,0);return a.map(n=>n/r)}var pt=(t,e)=>{let a=t[0].length/e;return Array.from({length:e},(r,n)=>t.map(i=>i.slice(n*a,(n+1)*a)))};function Y(t,e){let a=t.length/e;return Array.from({length:e},(r,n)=>t[n*a].map((i,d)=>i.map((u,b)=>t.slice(n*a,(n+1)*a).reduce((h,p)=>h+p[d][b],0)/a)))}function Z({x:t,wq:e,wk:a,wv:r},n,i){let[d,u,b]=[e,a,r].map(x=>pt(B(t,x),n)),[h,p]=[Y(u,i),Y(b,i)],v=n/i,q=1/Math.sqrt(d[0][0].length),_=d.map((x,E)=>{let C=h[Math.floor(E/v)];return x.map(j=>X(C.map(M=>q*j.reduce((N,f,y)=>N+f*M[y],0))))});return{weights:_,outputs:_.map((x,E)=>B(x,p[Math.floor(E/v)]))}}function tt(t){let[e,a]=[0,0];return t.forEach((r,n)=>t.slice(n+1).forEach(i=>r.forEach((d,u)=>{e+=d.reduce((b,h,p)=>b+Math.min(h,i[u][p]),0),a+=1}))),a?e/a:1}function et(t,e,a){let[r,n]=[Z(t,e,a),Z(t,e,e)],i=h=>h.reduce((p,v)=>p+v.reduce((q,_)=>q+_*_,0),0),d=r.outputs.map((h,p)=>i(h.map((v,q)=>v.map((_,x)=>_-n.outputs[p][q][x])))),u=n.outputs.map(i),b=h=>h.reduce((p,v)=>p+v,0);return{...r,errors:d.map((h,p)=>Math.sqrt(h/u[p])),error:Math.sqrt(b(d)/b(u)),overlap:tt(r.weights),ownOverlap:tt(n.weights)}}var at=(t,e,a,r)=>4*t*e*a*r;var G=["1","2","4","8"],rt=360,ft=118,St=H({name:"heads",title:"Heads workshop",keys:["heads","kv_heads","token","length"],setup({model:t,body:e,say:a,set:r,signal:n}){let i=(o,s,c)=>K({label:o,part:s,value:"8",options:G.map(m=>({value:m,text:m})),onChange:m=>c(Number(m))}),d=i("Query heads","heads",o=>r({heads:o,kv_heads:Math.min(o,t.get("kv_heads"))})),u=i("Key/value heads","kv",o=>r({kv_heads:o,heads:Math.max(o,t.get("heads"))})),b,h=l("span"),p=L("svg",{viewBox:`0 0 ${rt} ${ft}`,role:"img","data-part":"wires",style:"width: 100%; max-width: 30rem; height: auto; display: block; margin: .8rem 0 0"}),v=l("input",{type:"range",min:10,max:17,step:1,"data-part":"length","aria-label":"Tokens in the cache",style:"flex: 1 1 8rem; min-height: 28px; accent-color: var(--fig-query)",on:{input:()=>r({length:2**Number(v.value)})}}),q=l("span",{class:"attnlab-label",style:"min-width: 6.5rem"}),[_,x,E]=["Where the heads look","What is lost and saved","Caches of published models"].map(o=>l("div",{class:"attnlab-scroll",tabindex:0,role:"region","aria-label":o,style:"margin-top: .8rem"})),C=o=>l("span",{class:"attnlab-label",style:"min-width: 7.5rem"},o);e.append(l("div",{class:"attnlab-row"},C("Query heads"),d),l("div",{class:"attnlab-row"},C("Key/value heads"),u),l("div",{class:"attnlab-row"},C("Look from"),h),p,_,x,l("div",{class:"attnlab-row",style:"margin-top: 1.2rem"},C("Published models at"),v,q),E);for(let o of["x","w_q","w_k","w_v","tokens","models"]){let s=()=>r({});t.on(`change:${o}`,s),n.addEventListener("abort",()=>t.off?.(`change:${o}`,s))}function j(){let[o,s,c,m]=["x","w_q","w_k","w_v"].map($=>ht($,t.get($))),S=t.get("tokens"),[w,A]=[Number(t.get("heads")),Number(t.get("kv_heads"))];if(!G.includes(String(w))||!G.includes(String(A))||A>w)throw new Error(`heads and kv_heads must be 1, 2, 4 or 8, and kv_heads at most heads; got ${w} and ${A}.`);if(S.length!==o.length)throw new Error(`tokens must name the ${o.length} rows of x, it names ${S.length}.`);for(let[$,z]of[["w_q",s],["w_k",c],["w_v",m]])if(z.length!==o[0].length||z[0].length%8||z[0].length!==s[0].length)throw new Error(`${$} must have ${o[0].length} rows and a width that 8 divides, the same for all three.`);let k=Number(t.get("token"));if(!(k>=0&&k<S.length))throw new Error(`token must be from 0 to ${S.length-1}, got ${k}.`);let g=Number(t.get("length"));if(!(g>=1))throw new Error(`length must be at least 1, got ${t.get("length")}.`);return{n:w,m:A,tokens:S,token:k,length:g,width:c[0].length,...et({x:o,wq:s,wk:c,wv:m},w,A)}}function M(){let o=j(),{n:s,m:c,tokens:m,token:S,length:w}=o;I(d,String(s)),I(u,String(c)),b?.dataset.names!==JSON.stringify(m)&&(b=K({label:"Look from",part:"token",value:String(S),options:m.map(($,z)=>({value:String(z),text:$})),onChange:$=>r({token:Number($)})}),b.dataset.names=JSON.stringify(m),h.replaceChildren(b)),I(b,String(S)),v.value=String(Math.log2(w)),v.setAttribute("aria-valuetext",`${w} tokens`),q.textContent=`${w.toLocaleString("en")} tokens`,N(s,c),f(o);let A=c===s?s===1?"One head":"Multi-head":c===1?"Multi-query":"Grouped-query",k=c===s?"all of the cache":`1/${s/c} of the cache`,g=c===s?"nothing is lost":`the output is off by ${D(100*o.error,0)} %`;a(`${A}: ${s} query ${s===1?"head":"heads"}, ${c} of keys and values. It keeps ${k}; ${g}.`)}function N(o,s){let c=(k,g)=>30+(k+.5)*(rt-34)/g,m=(k,g,$)=>L("text",{x:2,y:g,"font-size":14,fill:`var(--fig-${$})`},k),S=(k,g,$)=>L("text",{x:k,y:g,"font-size":14,"text-anchor":"middle",fill:"var(--fig-ink)"},String($+1)),w=Array.from({length:o},(k,g)=>[L("line",{x1:c(g,o),y1:34,x2:c(Math.floor(g*s/o),s),y2:78,stroke:"var(--fig-ink)","stroke-opacity":.45}),L("circle",{cx:c(g,o),cy:22,r:12,fill:"var(--fig-paper)",stroke:"var(--fig-query)","stroke-width":2.5}),S(c(g,o),27,g)]),A=Array.from({length:s},(k,g)=>[L("rect",{x:c(g,s)-16,y:78,width:16,height:16,fill:"var(--fig-key)"}),L("rect",{x:c(g,s),y:78,width:16,height:16,fill:"var(--fig-value)"}),S(c(g,s),111,g)]);p.replaceChildren(m("Q",27,"query"),m("K",91,"key"),m("V",91,"value"),...[...w,...A].flat()),p.children[2].setAttribute("x","13"),p.setAttribute("aria-label",`${o} query ${o===1?"head":"heads"} above, wired to ${s} key and value ${s===1?"head":"heads"} below`)}function f({n:o,m:s,tokens:c,token:m,length:S,width:w,weights:A,errors:k,error:g,overlap:$,ownOverlap:z}){let nt=A.map((U,O)=>{let F=U[m].map(T=>{let R=l("td",{},T.toFixed(4));return P(R,T),R});return[`head ${O+1}`,String(Math.floor(O*s/o)+1),...F,k[O].toFixed(4)]});_.replaceChildren(V("numbers",`Where “${c[m]}” (word ${m+1}) looks`,["head","K/V head",...c,"error"],nt));let W=2*w*s/o;x.replaceChildren(V("sums","What is lost, and what is saved",["this layer","now","own K/V for each head"],[["error of the output",g.toFixed(4),"0.0000"],["two heads look alike",$.toFixed(4),z.toFixed(4)],["numbers cached for a token",String(W),String(2*w)],["bytes at 16 bits",String(2*W),String(4*w)]]));let ot=t.get("models").map(([U,O,F,T,R])=>[U,String(O),`${F} / ${T}`,String(R),...[F,T].map(st=>(at(O,st,R,S)/2**30).toFixed(3))]),it=["model","layers","heads / K/V heads","head width","GiB if all had their own","GiB as published"];E.replaceChildren(V("caches","Keys and values of one text, at 16 bits",it,ot))}function y(){let o=m=>`torch.tensor(${JSON.stringify(t.get(m))}, dtype=torch.float64)`,[s,c]=[t.get("heads"),t.get("kv_heads")];return`import torch

from attnlab import attention

x = ${o("x")}  # ${t.get("tokens").join(", ")}
w_q = ${o("w_q")}
w_k = ${o("w_k")}
w_v = ${o("w_v")}
heads, kv_heads, token = ${s}, ${c}, ${t.get("token")}
q, k, v = ((x @ w).unflatten(-1, (heads, -1)).transpose(0, 1) for w in (w_q, w_k, w_v))


def share(t):
    return t.unflatten(0, (kv_heads, -1)).mean(1).repeat_interleave(heads // kv_heads, 0)


full = attention(q, k, v)
output, weights = attention(q, share(k), share(v), need_weights=True)
print(weights[:, token])
print("error", ((output - full).norm() / full.norm()).item())
`}return{update:M,pytorch:y,svg:()=>J(p)}}});function V(t,e,a,r){return l("table",{"data-part":t},l("caption",{},e),l("thead",{},l("tr",{},...a.map(n=>l("th",{scope:"col"},n)))),l("tbody",{},...r.map(([n,...i])=>l("tr",{},l("th",{scope:"row"},n),...i.map(d=>typeof d=="string"?l("td",{},d):d)))))}function ht(t,e){if(!(Array.isArray(e)&&e.length>0&&e.every(r=>Array.isArray(r)&&r.length===e[0].length&&r.length&&r.every(Number.isFinite))))throw new Error(`${t} must be rows of numbers, all of one length.`);return e}export{St as default};
