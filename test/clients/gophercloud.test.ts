import { join } from 'node:path'
import { expect, test } from 'vitest'
import { compiledDirectory } from '#deploy/paths.ts'
import { clientSettings, runClient, whyNoClient } from '#test/env/client-program.ts'
import { startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { PUBLIC_KEY } from '#test/env/sample-key.ts'

const GO = '/usr/bin/go'
const SOURCES = '/usr/share/gocode'
const PROGRAM = new URL('gophercloud', import.meta.url).pathname

const why = whyNoClient('golang-go', GO) ?? whyNoClient('golang-github-gophercloud-gophercloud-dev')

/** Acts, and the status after each; a short run does the first two. */
const STATES = [
  ['stop', 'SHUTOFF'],
  ['start', 'ACTIVE'],
  ['reboot', 'ACTIVE'],
  ['reboot', 'ACTIVE'],
  ['pause', 'PAUSED'],
  ['unpause', 'ACTIVE'],
  ['suspend', 'SUSPENDED'],
  ['resume', 'ACTIVE'],
  ['resize', 'VERIFY_RESIZE'],
  ['revertResize', 'ACTIVE'],
  ['resize', 'VERIFY_RESIZE'],
  ['confirmResize', 'ACTIVE'],
  ['rebuild', 'ACTIVE'],
  ['rescue', 'RESCUE'],
  ['unrescue', 'ACTIVE'],
  ['shelve', 'SHELVED_OFFLOADED'],
  ['unshelve', 'ACTIVE'],
  ['lock', 'ACTIVE'],
  ['unlock', 'ACTIVE'],
  ['changePassword', 'ACTIVE'],
]

test.skipIf(why !== undefined)(`gophercloud drives a server (${why ?? 'installed'})`, async () => {
  await using cloud = await startCloud({ gateways: 1, cells: 1, processesPerCell: 1 })
  const { directory, accounts } = cloud.foundation
  const program = join(directory, 'gophercloud')
  const settings = clientSettings(`${cloud.endpoints[0]}/identity/v3`, accounts.demo)
  const build = { GOPATH: SOURCES, GO111MODULE: 'off', GOCACHE: compiledDirectory }
  await runClient(GO, ['build', '-o', program, `${PROGRAM}/main.go`, `${PROGRAM}/every.go`], {
    ...settings,
    ...build,
  })

  const args = isFullRun ? ['full'] : []
  const seen = JSON.parse(await runClient(program, args, { ...settings, PUBLIC_KEY })) as object

  expect(seen).toMatchObject({
    flavor: { id: '1', ram: 128, 'os-flavor-access:is_public': true },
    shown: {
      name: 'go-1',
      status: 'ACTIVE',
      metadata: { a: 'b' },
      key_name: 'go-key',
      flavor: { id: cloud.catalog.tiny },
      security_groups: [{ name: 'default' }],
    },
    listed: 1,
    members: 1,
    snapshot: 'go-snap',
    gone: true,
  })
  expect(seen).toHaveProperty('states', isFullRun ? STATES : STATES.slice(0, 2))
  if (!isFullRun) return
  expect(seen).toMatchObject({
    changed: { name: 'go-3', metadata: { c: 'd' }, flavor: { id: cloud.catalog.small } },
    ports: 2,
    group: 'default',
    console: expect.stringContaining('fake-guest') as unknown,
    first: { action: 'create', message: '' },
    zones: [{ zoneName: 'north', zoneState: { available: true } }],
    limits: { absolute: { maxTotalInstances: 10, totalInstancesUsed: 1 } },
    quota: { instances: 10 },
    tags: ['blue'],
  })
})
