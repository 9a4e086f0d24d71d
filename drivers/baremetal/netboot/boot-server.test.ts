import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '#deploy/process/free-port.ts'
import { BootServer } from './boot-server.ts'
import type { KeptBoot } from './live-boots.ts'
import type { RamdiskTask } from './tasks.ts'

const MAC = '52:54:00:12:34:56'
const LIVE_MAC = '52:54:00:12:34:57'

describe('a boot server', () => {
  let directory: string
  let server: BootServer
  let url: string
  let write: RamdiskTask
  let live: KeptBoot
  const signal = () => AbortSignal.timeout(10_000)
  const get = async (path: string) => (await fetch(`${url}${path}`)).text()
  const taskUrl = async () => /weir\.url=(\S+)/.exec(await get(`/boot.ipxe?mac=${MAC}`))?.[1] ?? ''
  const post = (to: string, body: string) => fetch(to, { method: 'POST', body })

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'weir-boot-'))
    const [kernelPath, initrdPath, path] = ['kernel', 'initrd', 'image'].map((name) =>
      join(directory, name),
    ) as [string, string, string]
    for (const file of [kernelPath, initrdPath, path]) await writeFile(file, `the ${file}`)
    const port = await freePort()
    live = { files: { iso: path }, commandLine: '', token: 'known' }
    url = `http://127.0.0.1:${port}`
    const patches = [{ offsetBytes: 512, content: Buffer.from('over it') }]
    write = { kind: 'write', image: { path, sizeBytes: 7, sha256: 'a'.repeat(64) }, patches }
    const files = { kernelPath, initrdPath }
    const liveBoots = async () => new Map([[LIVE_MAC, live]])
    server = await BootServer.start({
      publicUrl: url,
      address: '127.0.0.1',
      port,
      liveBoots,
      kernelParameters: 'nomodeset',
      ...files,
    })
  })
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
    await rm(directory, { recursive: true, force: true })
  })

  test('sends machines without a task to their next device', async () => {
    expect(await get(`/boot.ipxe?mac=${MAC}`)).toBe('#!ipxe\nexit\n')
    expect(await get('/boot.ipxe')).toBe('#!ipxe\nexit\n')
  })

  test('gives a machine its task, the image to it alone, and its report to who asked', async () => {
    const running = server.run(MAC, write, async () => undefined, signal())
    const task = await taskUrl()

    expect(await get(`/boot.ipxe?mac=${MAC}`)).toContain(
      ` nomodeset weir.url=${task} weir.nic=${MAC} `,
    )
    expect(await get(`/boot.ipxe?mac=${MAC.toUpperCase()}`)).toContain(
      'weir.task=write weir.bytes=7 weir.patches=512:7',
    )
    expect(await get('/ramdisk/kernel')).toContain('kernel')
    expect(await (await fetch(`${task}/image`)).text()).toContain('image')
    expect(await get(task.slice(url.length) + '/patches/0')).toBe('over it')
    for (const none of [`${url}/tasks/other/image`, `${task}/patches/1`, `${task}/other`])
      expect((await fetch(none)).status).toBe(404)
    expect((await post(`${url}/tasks/other/done`, 'a lie')).status).toBe(404)
    await post(`${task}/done`, 'written')

    expect(await running).toBe('written')
    expect((await fetch(`${task}/image`)).status).toBe(404)
  })

  test('reports why a machine failed its task, and keeps no task when its start fails', async () => {
    const failing = server.run(MAC, write, async () => undefined, signal())
    const outcome = expect(failing).rejects.toMatchObject({ kind: 'internal', detail: 'no disk' })
    await post(`${await taskUrl()}/failed`, 'no disk')
    await outcome

    const begin = () => Promise.reject(new Error('no power'))
    await expect(server.run(MAC, write, begin, signal())).rejects.toThrow('no power')
    expect(await taskUrl()).toBe('')
  })

  test('gives a machine one task at a time, until the caller gives up', async () => {
    const abort = new AbortController()
    const running = server.run(MAC, write, async () => undefined, abort.signal)
    const outcome = expect(running).rejects.toThrow('too late')

    await expect(
      server.run(MAC, { kind: 'clean' }, async () => undefined, signal()),
    ).rejects.toMatchObject({ kind: 'conflict' })
    abort.abort(new Error('too late'))

    await outcome
    expect(await taskUrl()).toBe('')
  })

  test('serves the boot files of a machine without a disk, block by block, unless it has a task', async () => {
    const script = () => get(`/boot.ipxe?mac=${LIVE_MAC}`)
    expect(await script()).toBe(`#!ipxe\nsanboot --no-describe ${url}/live/known/iso\n`)
    const iso = `${url}/live/known/iso`
    const part = await fetch(iso, { headers: { range: 'bytes=4-8' } })
    expect(part.status).toBe(206)
    expect(part.headers.get('content-range')).toMatch(/^bytes 4-8\/\d+$/)
    expect(await part.text()).toBe((await get('/live/known/iso')).slice(4, 9))
    const head = await fetch(iso, { method: 'HEAD' })
    expect(Number(head.headers.get('content-length'))).toBe((await get('/live/known/iso')).length)
    const behind = await fetch(iso, { headers: { range: 'bytes=90000-90001' } })
    expect(behind.status).toBe(416)
    for (const none of ['other/iso', 'known/kernel', 'known/other'])
      expect((await fetch(`${url}/live/${none}`)).status).toBe(404)

    const abort = new AbortController()
    const running = server.run(LIVE_MAC, { kind: 'clean' }, async () => undefined, abort.signal)
    const outcome = expect(running).rejects.toThrow('enough')
    expect(await script()).toContain('weir.task=clean')
    abort.abort(new Error('enough'))
    await outcome

    live = { files: { kernel: 'k', ramdisk: 'r' }, commandLine: 'console=ttyS0', token: 'known' }
    const at = `${url}/live/known`
    expect(await script()).toContain(`kernel ${at}/kernel initrd=initrd console=ttyS0\n`)
  })
})
