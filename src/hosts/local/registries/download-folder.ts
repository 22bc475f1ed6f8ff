/** The folder in the image directory that has parts of downloads. */
export const downloads = ".pull";
