import { expect, test } from 'vitest'
import { natsFinding } from './examine-nats.ts'

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
