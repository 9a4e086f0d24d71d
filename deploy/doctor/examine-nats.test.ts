import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { findProgram } from '../process/find-program.ts'
import { examineNats, natsFinding } from './examine-nats.ts'

test.each([
  ['nats-server: v2.9.10', ['CVE-2026-27889']],
  ['nats-server: v2.10.29', ['CVE-2026-27889', 'CVE-2026-29785']],
  ['nats-server: v2.11.13', ['CVE-2026-27889', 'CVE-2026-29785']],
  ['nats-server: v2.11.14', []],
  ['nats-server: v2.12.4', ['CVE-2026-27889', 'CVE-2026-29785']],
  ['nats-server: v2.12.5', []],
  ['nats-server: v2.14.0', []],
  ['nats-server: v2.1.9', []],
])('of %s it names %j', (said, names) => {
  const { is, what } = natsFinding('/usr/sbin/nats-server', said)

  expect(is).toBe(names.length === 0 ? 'ok' : 'note')
  expect(what.match(/CVE-\d+-\d+/g) ?? []).toEqual(names)
})

test('a server that does not tell its release is not called good', () => {
  expect(natsFinding('/opt/nats-server', 'custom build').is).toBe('note')
})

test('a newer server on the PATH is examined, and started, instead of any other', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'weir-newer-nats-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const newer = join(directory, 'nats-server')
  await writeFile(newer, '#!/bin/sh\necho nats-server: v2.12.5\n', { mode: 0o755 })
  vi.stubEnv('PATH', `${directory}${delimiter}${process.env['PATH']}`)
  onTestFinished(() => void vi.unstubAllEnvs())

  expect(examineNats()).toEqual([{ is: 'ok', what: `nats-server 2.12.5 at ${newer}` }])
  expect(findProgram('nats-server')).toBe(newer)
})
