/** Style sheets belong to the module that imports them; the build brings them along. */
declare module "*.css";
