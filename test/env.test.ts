import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createConnection } from 'mysql2/promise'
import { expect, onTestFinished, test } from 'vitest'
import { processIdentity } from '#deploy/process/process-identity.ts'
import { runOutside } from './env/cloud/run-outside.ts'
import { freshDatabase } from './env/fresh-database.ts'
import { askUntil } from './env/held-commit.ts'

test('freshDatabase() makes a database of its own for each caller', async () => {
  const urls = [await freshDatabase('same/name'), await freshDatabase('same/name')]

  expect(urls[0]).not.toBe(urls[1])
  for (const url of urls) {
    const connection = await createConnection({ uri: url })
    const [rows] = await connection.query('SHOW TABLES')
    await connection.end()
    expect(rows).toEqual([])
  }
})

test('runOutside() leaves no process behind that does not serve in time', async () => {
  const root = await mkdtemp(join(tmpdir(), 'weir-outside-'))
  onTestFinished(() => rm(root, { recursive: true }))
  const script = join(root, 'silent.js')
  await writeFile(
    script,
    'process.stdout.write(`pid ${process.pid}\\n`); setInterval(() => {}, 1_000)',
  )
  const logFile = join(root, 'log')
  const program = { name: 'silent', script, settings: {}, wires: [], serves: 'never said' }

  const started = runOutside(
    { ...program, inside: () => Promise.reject(new Error('it runs outside')) },
    {},
    { logFile, root, startLimitMs: 3_000 },
  )

  await expect(started).rejects.toThrow('silent to serve')
  const [, pid] = /pid (\d+)/.exec(await readFile(logFile, 'utf8')) ?? []
  expect(processIdentity(Number(pid))).toBeUndefined()
})

test('askUntil() asks again what is refused', async () => {
  const over = Promise.withResolvers<void>()
  let asked = 0
  const ask = async () => {
    asked += 1
    if (asked < 3) throw new Error('refused')
  }

  await askUntil(over.promise, ask, 1)

  expect(asked).toBe(3)
})

test('askUntil() asks no more once it is over', async () => {
  let asked = 0
  const ask = async () => {
    asked += 1
    throw new Error('refused')
  }

  await askUntil(Promise.resolve(), ask, 60_000)

  expect(asked).toBe(1)
})
