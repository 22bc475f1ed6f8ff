/** Size of the file that is copied, MB. */
export const megabytes = 1_000;
