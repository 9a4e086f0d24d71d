import { mkdtempDisposable, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import type { Logger } from '#common/log.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { ImageServer } from './image-server.ts'

test('an image is served while it is being deployed, and one that cannot be read is reported', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'weir-served-'))
  const path = join(folder.path, 'image')
  await writeFile(path, 'content')
  const imagePort = await freePort()
  const imageUrl = `http://127.0.0.1:${imagePort}`
  const warn = vi.fn()
  const logger = { warn } as unknown as Logger
  const where = { imageUrl, imageAddress: '127.0.0.1', imagePort }
  await using server = await ImageServer.start(where, logger)
  const served = server.serve(path)

  expect(await (await fetch(served.url)).text()).toBe('content')
  expect(warn).not.toHaveBeenCalled()
  await rm(path)
  await expect(fetch(served.url)).rejects.toThrow()
  expect(warn).toHaveBeenCalledOnce()
  served[Symbol.dispose]()
  expect((await fetch(served.url)).status).toBe(404)
})
