import { runOnMachine } from "../machine/machine.ts";

/**
 * Makes ext4 spread the directories in this directory over the disk, as it does at its top level. In one block group, ext4 checks all recently
 * deleted inodes for each new inode: the disks of a lab then took up to twenty times as long after those of another lab were removed. Other file
 * systems have neither this flag nor this problem.
 */
export async function spreadDirectories(directory: string): Promise<void> {
  // Fails on other file systems, and without the program. Without the flag, removing and creating disks is slower.
  await runOnMachine(["chattr", "+T", directory]).catch(() => undefined);
}
