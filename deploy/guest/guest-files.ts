import { readFile } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pack } from 'tar-stream'

/** Of the package `busybox-static`. */
const BUSYBOX = '/bin/busybox'
const APPLETS = ['sh', 'cat', 'echo', 'hostname', 'httpd', 'ip', 'mkdir', 'sleep', 'true', 'sed']
const EXECUTABLE = 0o755
const CONTAINER_INIT = new URL('container-init', import.meta.url)

/** The files of a root file system for a container, as a tar archive: a static busybox and an init of a few lines. */
export async function guestFiles(): Promise<Buffer> {
  const archive = pack()
  archive.entry({ name: BUSYBOX.slice(1), mode: EXECUTABLE }, await readFile(BUSYBOX))
  for (const name of APPLETS)
    archive.entry({ name: `bin/${name}`, type: 'symlink', linkname: 'busybox' })
  archive.entry({ name: 'sbin/init', mode: EXECUTABLE }, await readFile(CONTAINER_INIT))
  archive.finalize()
  return buffer(archive as unknown as Readable)
}
