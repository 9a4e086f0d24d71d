import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Checkout, tokenFile } from '../env/checkout.ts'
import { isFullRun } from '../env/full-run.ts'

// Goal: a cell whose folder was restored from a copy can join again; a cell that has left is refused with the reason, and its name is free.

const ADDRESS = '127.0.0.77'
const LIMIT_MS = 60_000

interface CellShown {
  readonly id: string
  readonly is_alive: boolean
}

describe.skipIf(!isFullRun)('a cell elsewhere', () => {
  let here: Checkout
  let there: Checkout
  const copies = mkdtempSync(join(tmpdir(), 'weir-copy-'))

  beforeAll(async () => {
    ;[here, there] = [new Checkout(), new Checkout()]
    const size = ['--cells', '1', '--hosts', '1']
    await here.succeed('up', '--driver', 'fake', ...size, '--address', ADDRESS)
  }, 300_000)
  afterAll(async () => {
    await there?.[Symbol.asyncDispose]()
    await here?.[Symbol.asyncDispose]()
    rmSync(copies, { recursive: true })
  }, 120_000)

  /** What the line that a new token is shown in gives. */
  async function joining(...options: readonly string[]): Promise<readonly string[]> {
    const line = await here.succeed('cell', 'token', 'create', 'edge-1', ...options)
    const [given = '', , ...argv] = line.trim().split(' ')
    const at = argv.indexOf('--gateway')
    const token = tokenFile(given.slice(given.indexOf('=') + 1))
    return ['cell', 'join', '--gateway', argv[at + 1]!, '--token-file', token, '--driver', 'fake']
  }
  async function shown(): Promise<CellShown> {
    return JSON.parse(await here.succeed('cell', 'show', 'edge-1', '-o', 'json')) as CellShown
  }
  const isReachable = async () => (await shown()).is_alive

  test('that is restored from a copy of its folder joins again as the same', async () => {
    await there.succeed(...(await joining()))
    await expect.poll(isReachable, { timeout: LIMIT_MS }).toBe(true)
    const { id } = await shown()
    await there.succeed('down')
    cpSync(there.home, join(copies, 'edge-1'), { recursive: true, preserveTimestamps: true })
    await there.succeed(...(await joining('--renew')))
    await expect.poll(isReachable, { timeout: LIMIT_MS }).toBe(true)
    await there.succeed('down')
    await expect.poll(isReachable, { timeout: LIMIT_MS }).toBe(false)
    rmSync(there.home, { recursive: true })
    cpSync(join(copies, 'edge-1'), there.home, { recursive: true, preserveTimestamps: true })

    await there.succeed(...(await joining('--renew')))

    await expect.poll(isReachable, { timeout: LIMIT_MS }).toBe(true)
    expect((await shown()).id).toBe(id)
  }, 300_000)

  test('that has left is not let in again, and another takes its name', async () => {
    const { id } = await shown()
    await here.succeed('cell', 'leave', 'edge-1', '--yes')

    const again = await there.weir(...(await joining()))

    expect(again.code).not.toBe(0)
    expect(again.stderr).toContain('is a cell edge-1 that has left')
    await here.succeed('cell', 'leave', 'edge-1', '--forget', '--yes')
    await using other = new Checkout()
    await other.succeed(...(await joining()))
    await expect.poll(isReachable, { timeout: LIMIT_MS }).toBe(true)
    expect((await shown()).id).not.toBe(id)
    await here.succeed('cell', 'leave', 'edge-1', '--yes')
  }, 300_000)
})
