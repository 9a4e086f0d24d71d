import { afterAll, beforeAll, expect, test } from 'vitest'
import { clientSettings, runClient, whyNoClient } from '#test/env/client-program.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { offerRouting } from '#test/env/network-objects.ts'

// Goal: Horizon's page of the network topology, which asks by neutronclient, shows the networks and routers of a project.

const PYTHON = '/usr/bin/python3'
const why = whyNoClient('python3-neutronclient')

let cloud: Cloud

beforeAll(async () => {
  if (why !== undefined) return
  cloud = await startCloud({ gateways: 1, cells: 1, hostsPerCell: 1, processesPerCell: 1 })
  await offerRouting(cloud)
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
})

test.skipIf(why !== undefined)('a member sees a router between two networks', async () => {
  const script = new URL('neutron_client.py', import.meta.url).pathname
  const { demo } = cloud.foundation.accounts
  const settings = clientSettings(`${cloud.endpoints[0]}/identity/v3`, demo)

  const seen: unknown = JSON.parse(await runClient(PYTHON, [script], settings))

  expect(seen).toEqual({
    extensions: expect.arrayContaining(['external-net', 'quotas', 'router']) as unknown,
    own: ['inner'],
    shared: ['private'],
    external: ['public'],
    subnets: ['inner-4'],
    routers: [['edge', 'ACTIVE', true]],
    interfaces: [[true, true]],
    gateways: 0,
    floating: 0,
    quota: expect.arrayContaining(['network', 'router', 'floatingip']) as unknown,
    on_inner: 1,
    in_use: 'NetworkInUseClient',
    left: 0,
  })
})
