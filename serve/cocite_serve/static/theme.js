// Runs before the first paint, so that a page in the dark never flashes white.
(() => {
  let theme = null;
  try { theme = localStorage.getItem("cocite-theme"); } catch { /* storage is off: follow the system */ }
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
})();
