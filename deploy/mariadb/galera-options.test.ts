import { expect, test } from 'vitest'
import { galeraOptions } from './galera-options.ts'

test('nodes that agree on who is in the cluster speak often enough not to suspect each other', () => {
  const ports = { sql: 1, group: 2, ist: 3, sst: 4 }
  const member = { name: 'a', ports }
  const options = galeraOptions(member, { members: [member], password: 'secret' }, 'home')

  const provider = String(new Map(options).get('wsrep-provider-options'))
  const seconds = (name: string) =>
    Number(new RegExp(`evs\\.${name}=PT([\\d.]+)S`).exec(provider)?.[1])
  expect(seconds('join_retrans_period')).toBeLessThan(seconds('suspect_timeout') / 2)
})
