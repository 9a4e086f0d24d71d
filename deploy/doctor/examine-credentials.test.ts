import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAccount } from '@nats-io/nkeys'
import { expect, test } from 'vitest'
import { endOf, readCredential } from '#common/bus/credential.ts'
import type { CellId, HostId } from '#common/ids.ts'
import { OPERATOR_PERMISSIONS } from '#gateway/bus/accounts.ts'
import { issueCredentials } from '#gateway/bus/issue-credentials.ts'
import { type Layout, layoutIn } from '../deployment/layout.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { issueCellCredentials } from '../up/prepare-bus.ts'
import { examineCredentials } from './examine-credentials.ts'

const DAY_S = 86_400
const SEED = new TextDecoder().decode(createAccount().getSeed())
const north = { id: 'c1' as CellId, name: 'north' }
const joined = { cells: [], host: { name: 'north-9', cell: north } } as unknown as DeploymentState
const local = {
  cells: [{ ...north, account: { seed: SEED }, hosts: [{ id: 'h1' as HostId, name: 'north-1' }] }],
} as unknown as DeploymentState

async function folder(): Promise<Layout> {
  const layout = layoutIn(await mkdtemp(join(tmpdir(), 'weir-credentials-')))
  mkdirSync(layout.secrets)
  return layout
}

async function put(layout: Layout, name: string, lifetimeS: number): Promise<string> {
  const file = join(layout.secrets, name)
  writeFileSync(file, await issueCredentials('x', SEED, OPERATOR_PERMISSIONS, lifetimeS))
  return file
}

test('an expired credential is named, with the command that renews it', async () => {
  const layout = await folder()
  await put(layout, 'uplink.creds', DAY_S)
  const now = Date.now()

  expect(examineCredentials(layout, joined, now)).toMatchObject([
    { is: 'ok', what: expect.stringContaining('uplink.creds ends at') },
  ])
  const [finding] = examineCredentials(layout, joined, now + 2_000 * DAY_S)
  expect(finding?.is).toBe('bad')
  expect(finding?.what).toContain('./weir cell token create north --host north-9 --renew')
  expect(finding?.what).toContain('./weir host join --gateway URL --token-file FILE')
})

test('up renews credentials older than half their life, for the same key', async () => {
  const layout = await folder()
  await issueCellCredentials(layout, local)
  const [cell, host] = ['cell-north', 'host-north-1'].map((name) =>
    join(layout.secrets, `${name}.creds`),
  )
  const fresh = readCredential(cell!)
  const old = readCredential(await put(layout, 'host-north-1.creds', -DAY_S))

  await issueCellCredentials(layout, local)

  expect(readCredential(cell!)).toEqual(fresh)
  const again = readCredential(host!)
  expect(again.claims.sub).toBe(old.claims.sub)
  expect(again.seed).toBe(old.seed)
  expect(endOf(again)).toBeGreaterThan(Date.now() + 29_000 * DAY_S)
  expect(again.claims.nats.sub?.allow).toContain('host.c1.h1.>')
})
