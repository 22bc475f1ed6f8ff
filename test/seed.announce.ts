/** Prints the seed of the run, once, before all tests. */
export default function announceSeed(): void {
  console.log(`seed ${process.env.LABWRIGHT_SEED} (LABWRIGHT_SEED=random or a number for others)`);
}
