/** Once per run, before all tests: which seed it has. */
export default function announceSeed(): void {
  console.log(`seed ${process.env.LABWRIGHT_SEED} (LABWRIGHT_SEED=random or a number for others)`);
}
