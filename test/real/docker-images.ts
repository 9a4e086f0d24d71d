import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type Pack, pack } from 'tar-stream'
import { guestFiles } from '#deploy/guest/guest-files.ts'

/** The tiny container as `docker save` would write it, under a name that came with it. Another `author`: another image. */
export async function savedImage(name: string, author = 'weir'): Promise<Buffer> {
  const layer = await guestFiles()
  const config = Buffer.from(
    JSON.stringify({
      architecture: 'amd64',
      os: 'linux',
      author,
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
