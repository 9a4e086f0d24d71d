import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type InstanceId, newId } from '#common/ids.ts'
import { programPath } from '#deploy/process/find-program.ts'
import type { Driver, NicSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { driversContract } from '../contract/drivers.contract.ts'
import { isFullRun } from '../env/full-run.ts'
import { type IronicHarness, REFUSED_BY_IRONIC, startIronicHarness } from './ironic-harness.ts'
import { type SimulatedMachine, startMachine } from './machine/simulated-machine.ts'

const nic = (nth: number): NicSpec => ({
  portId: newId(),
  networkId: newId(),
  macAddress: `fa:16:3e:00:00:0${nth}`,
  mtu: 1500,
  fixedIps: [],
})

// Its packages bring system services, so nobody but the operator installs them: ironic-api and ironic-conductor.
const why = !isFullRun ? 'without --all' : programPath('ironic') ? undefined : 'no ironic installed'
const OPERATION_MS = 120_000

describe.skipIf(why !== undefined)(`ironic${why === undefined ? '' : ` (skipped: ${why})`}`, () => {
  driversContract('ironic', startIronicHarness, REFUSED_BY_IRONIC)

  describe('with a node behind a real BMC', () => {
    let harness: IronicHarness
    let machine: SimulatedMachine
    let driver: Driver
    const signal = () => AbortSignal.timeout(OPERATION_MS)

    beforeAll(async () => {
      ;[harness, machine] = await Promise.all([startIronicHarness(), startMachine({ diskMb: 1 })])
      driver = await harness.open()
    }, OPERATION_MS)
    afterAll(async () => {
      await driver?.[Symbol.asyncDispose]()
      await machine?.[Symbol.asyncDispose]()
      await harness?.[Symbol.asyncDispose]()
    })

    test('switches the machine, and is asked again while ironic has locked it', async () => {
      const uuid = await harness.enrol(machine)
      const spec = instanceSpec(harness.image)
      const { id } = spec
      const extraSpecs = { 'resources:CUSTOM_IPMI': '1' }
      const configDrive = {
        'openstack/latest/meta_data.json': Buffer.from('{"hostname":"told"}'),
        'openstack/latest/user_data': Buffer.from('#!/bin/sh'),
      }
      await driver.spawn({ ...spec, configDrive, flavor: { ...spec.flavor, extraSpecs } }, signal())
      expect(await machine.ipmitool('power', 'status')).toContain('is on')
      const node = (await harness.nodes()).find((each) => each.uuid === uuid)!
      expect(node.instance_info).toMatchObject({ image_os_hash_value: harness.image.sha256 })
      expect(node.instance_info['configdrive']).toBeDefined()

      // Both find it locked in turn.
      await Promise.all([driver.stop(id, 0, signal()), driver.list(signal())])
      expect(await machine.ipmitool('power', 'status')).toContain('is off')
      await driver.reboot(id, 'hard', 0, signal())
      expect(await machine.ipmitool('power', 'status')).toContain('is on')

      await driver.destroy(id, signal())
      expect(await harness.leftovers(id)).toEqual([])
    }, 300_000)

    test('switches a machine of hardware type ipmi, and gives it back', async () => {
      const id = newId<InstanceId>()
      const uuid = await harness.adopt(machine, id)
      const status = () => machine.ipmitool('power', 'status')

      await driver.start(id, signal())
      expect(await status()).toContain('is on')
      expect(await driver.list(signal())).toEqual([{ id, powerState: 'running' }])
      await driver.reboot(id, 'soft', 1_000, signal())
      expect(await status()).toContain('is on')
      await driver.stop(id, 0, signal())
      expect(await status()).toContain('is off')

      await driver.destroy(id, signal())
      expect(await harness.leftovers(id)).toEqual([])
      const node = (await harness.nodes()).find((each) => each.uuid === uuid)!
      expect(node).toMatchObject({ provision_state: 'available', driver: 'ipmi' })
    }, 300_000)

    test('the ports of a server are NICs of its node', async () => {
      const nics = [1, 2].map((nth) => nic(nth))
      const ports = nics.map(({ portId }) => portId)
      const plain = instanceSpec(harness.image, { nics })
      const flavor = { ...plain.flavor, extraSpecs: { ...harness.extraSpecs } }
      const links = ports.map((port) => ({ id: port, vif_id: port }))
      const data = JSON.stringify({ links, networks: [], services: [] })
      const configDrive = { 'openstack/latest/network_data.json': Buffer.from(data) }
      const spec = { ...plain, flavor, configDrive }
      await driver.spawn(spec, signal())

      const given = await driver.machineNics!.macAddresses(spec.id, ports, signal())
      const macs = ports.map((port) => given.get(port)!)
      expect(macs.map((mac) => mac.slice(-2))).toEqual(['01', '02'])
      const [node] = (await harness.nodes()).filter((each) => each.instance_uuid === spec.id)
      expect(node).toMatchObject({ provision_state: 'active' })
      await driver.destroy(spec.id, signal())

      const wide = { ...spec, id: newId<InstanceId>(), nics: [...nics, nic(3)] }
      await expect(driver.spawn(wide, signal())).rejects.toMatchObject({
        kind: 'invalid',
        message: 'The server has 3 ports, and its machine has 2 NICs.',
      })
      for (const { id } of [spec, wide]) expect(await harness.leftovers(id)).toEqual([])
    }, 300_000)

    test('a silent ironic is not known to have done anything, and goes on where it was', async () => {
      const spec = instanceSpec(harness.image)
      const extraSpecs = { ...harness.extraSpecs }
      const wanted = { ...spec, flavor: { ...spec.flavor, extraSpecs } }
      await driver.spawn(wanted, signal())

      await harness.kill()
      const silent = { kind: 'unavailable' }
      await expect(driver.inventory(signal())).rejects.toMatchObject(silent)
      await expect(driver.stop(spec.id, 0, signal())).rejects.toMatchObject(silent)
      await expect(driver.destroy(spec.id, signal())).rejects.toMatchObject(silent)
      await harness.start()

      expect(await driver.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
      await driver.destroy(spec.id, signal())
      expect(await driver.list(signal())).toEqual([])
      expect(await harness.leftovers(spec.id)).toEqual([])
    }, 300_000)
  })
})
