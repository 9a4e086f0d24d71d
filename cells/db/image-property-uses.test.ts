import { afterAll, beforeAll, expect, test } from 'vitest'
import { type InstanceId, newId } from '#common/ids.ts'
import type { Act } from '#openapi/wire/act.ts'
import { operationOn, sampleBuild } from '#test/env/sample-build.ts'
import { type TestCell, type TestHost, testCell } from '#test/env/test-cell.ts'
import type { RunningCell } from '../context.ts'
import { findInstance } from './instances.ts'

// Goal: a cell that weighs hosts by the images of their servers knows them, from the boot on and after a rebuild.

let cell: TestCell
let running: RunningCell
let [one, two]: TestHost[] = []

beforeAll(async () => {
  cell = await testCell('image_property_uses')
  running = await cell.addProcess('one', { weights: { image_props: 1 } })
  one = await cell.addHost({ name: 'one' })
  two = await cell.addHost({ name: 'two' })
  await cell.waitForHosts(running, 2)
})

afterAll(() => cell?.[Symbol.asyncDispose]())

const sample = sampleBuild()
const buildOf = (properties: Record<string, string>, requestedHost: string | null = null) =>
  sampleBuild({
    requestedHost,
    image: { ...sample.image, properties: { hypervisor_type: 'fake', ...properties } },
  })
const usesOf = ({ id }: TestHost) =>
  Object.fromEntries(running.cell.conductor.hosts.state(id)!.imagePropertyUses)
const refreshed = async (host: TestHost) => {
  await running.cell.conductor.hosts.refresh()
  return usesOf(host)
}
const firstFor = async (properties: Record<string, string>) => {
  const { trace } = await cell.ask('placement.explain', buildOf(properties))
  return trace.scores.map(({ candidate }) => candidate)
}

test('a host has the image properties of its servers, and similar servers go there', async () => {
  const debian = { os_distro: 'debian' }
  const operation = operationOn()
  const ask = { operation, build: buildOf(debian, 'two') }
  expect((await cell.ask('instance.build', ask)).outcome).toBe('accepted')
  // A refresh that read before the claim may write what it read after it; the next one puts it right.
  const ofServer = { 'hypervisor_type=fake': 1, 'os_distro=debian': 1 }
  await expect.poll(() => usesOf(two!)).toEqual(ofServer)
  expect(await refreshed(two!)).toEqual(ofServer)
  expect(usesOf(one!)).toEqual({})

  // One that is still being built counts, too.
  two!.driver.faults.set([{ method: 'spawn', effect: { do: 'hang' } }])
  await cell.ask('instance.build', { operation: operationOn(), build: buildOf({}, 'two') })
  await expect
    .poll(() => refreshed(two!))
    .toEqual({ 'hypervisor_type=fake': 2, 'os_distro=debian': 1 })
  expect(await firstFor(debian)).toEqual(['two', 'one'])
  two!.driver.faults.set([])

  const act: Act = {
    name: 'rebuild',
    build: buildOf({ os_distro: 'windows' }),
    keepsEphemeral: false,
  }
  const { db } = running.cell.conductor
  const vmState = async () => (await findInstance(db, operation.serverId as InstanceId))?.vmState
  await expect.poll(vmState).toBe('active')
  await cell.ask('instance.act', { operation: { ...operation, id: newId() }, act })
  await expect
    .poll(() => refreshed(two!))
    .toEqual({ 'hypervisor_type=fake': 2, 'os_distro=windows': 1 })
})

test('a claim that is being written counts at once, for the image of its server alone', () => {
  const { hosts } = running.cell.conductor
  const before = usesOf(one!)
  const resources = { vcpus: 0, memoryMb: 0, diskGb: 0 }
  hosts.reserve(one!.id, { resources, imageProperties: { os_distro: 'bsd' } })

  expect(usesOf(one!)).toEqual({ ...before, 'os_distro=bsd': 1 })
})
