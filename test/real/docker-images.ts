import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type Pack, pack } from 'tar-stream'

const BUSYBOX = '/bin/busybox'
const APPLETS = ['sh', 'cat', 'echo', 'hostname', 'httpd', 'ip', 'sleep', 'true']
/** Says who it is and what it was given, serves a page, and goes off when it is asked to. */
const INIT = `#!/bin/sh
trap 'echo asked to go; exit 0' TERM
echo "READY $(hostname)"
[ -d /config-drive/openstack ] && cat /config-drive/openstack/latest/user_data
mkdir -p /www; hostname > /www/index.html; httpd -h /www
while :; do sleep 3600 & wait $!; done
`

/** The files of a root file system, as a tar archive: a static busybox and an init of a few lines. */
export async function rootFiles(init = INIT): Promise<Buffer> {
  const archive = pack()
  archive.entry({ name: 'bin/busybox', mode: 0o755 }, readFileSync(BUSYBOX))
  for (const name of [...APPLETS, 'mkdir'])
    archive.entry({ name: `bin/${name}`, type: 'symlink', linkname: 'busybox' })
  archive.entry({ name: 'sbin/init', mode: 0o755 }, init)
  return finished(archive)
}

/** The same as `docker save` would write it, under a name that came with it. */
export async function savedImage(name: string, init = INIT): Promise<Buffer> {
  const layer = await rootFiles(init)
  const config = Buffer.from(
    JSON.stringify({
      architecture: 'amd64',
      os: 'linux',
      config: { Cmd: ['/sbin/init'] },
      rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(layer)}`] },
    }),
  )
  const configName = `${sha256(config)}.json`
  const layerName = `${sha256(layer)}/layer.tar`
  const manifest = [{ Config: configName, RepoTags: [name], Layers: [layerName] }]
  const archive = pack()
  archive.entry({ name: configName }, config)
  archive.entry({ name: layerName }, layer)
  archive.entry({ name: 'manifest.json' }, JSON.stringify(manifest))
  return finished(archive)
}

/** An archive of several images, or of whatever its manifest says. */
export async function archiveOf(manifest: string): Promise<Buffer> {
  const archive = pack()
  archive.entry({ name: 'manifest.json' }, manifest)
  return finished(archive)
}

async function finished(archive: Pack): Promise<Buffer> {
  archive.finalize()
  return buffer(archive as unknown as Readable)
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}
