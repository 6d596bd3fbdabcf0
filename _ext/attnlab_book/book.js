// @ts-check
// What the theme's templates cannot mend: names and keyboard access that depend on the finished page.
(() => {
  "use strict";
})();
