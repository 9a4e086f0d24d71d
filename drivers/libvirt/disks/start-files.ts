import { copyFile, rm, stat } from 'node:fs/promises'
import type { ImageSpec } from '../../driver.ts'
import type { LibvirtHost } from '../host.ts'

/** Where a kernel that guests are started from lies, and its first root file system. */
export interface StartFiles {
  readonly kernel: string
  readonly ramdisk: string
}

/** How a kernel finds its disk and where it speaks (nova: property os_command_line of the image). */
const COMMAND_LINE = 'root=/dev/vda console=tty0 console=ttyS0'

/** The files with which a domain is started; absent: the boot loader of its first disk. */
export interface Start {
  readonly kernel: string
  readonly ramdisk: string | undefined
  readonly commandLine: string
}

/**
 * Afterwards the instance has its own copies of the kernel and ramdisk that the image names, or none. With its own
 * copies it starts and moves even after the images have been deleted.
 */
export async function writeStartFiles(
  host: LibvirtHost,
  files: StartFiles,
  image: ImageSpec,
  signal: AbortSignal,
): Promise<void> {
  for (const name of ['kernel', 'ramdisk'] as const) {
    await rm(files[name], { force: true })
    const named = image[name]
    if (named !== undefined) await copyFile(await host.images.path(named, signal), files[name])
  }
}

/** The kernel and ramdisk to start from; undefined where there are none. */
export async function startOf(
  { kernel, ramdisk }: StartFiles,
  commandLine = COMMAND_LINE,
): Promise<Start | undefined> {
  if (!(await isThere(kernel))) return undefined
  return { kernel, ramdisk: (await isThere(ramdisk)) ? ramdisk : undefined, commandLine }
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
