import { asksForDedicatedCpus } from '#common/hardware-resources.ts'
import type { GuestTopology, Topology } from '../topology.ts'
import type { FakeGuest } from './guest.ts'
import type { FakeHost } from './host.ts'

/** Guests that ask for CPUs of their own have the first ones, all of them. */
export function fakeTopology(host: FakeHost): Topology {
  return {
    read: (id, signal) =>
      host.faulty('topology', host.target(id), signal, () => topologyOf(host.guests.get(id))),
  }
}

function topologyOf({ flavor, hardware }: FakeGuest): GuestTopology | null {
  if (!asksForDedicatedCpus(flavor.extraSpecs, {})) return null
  const { memoryMb } = hardware
  const vcpus = Array.from({ length: hardware.vcpus }, (_, vcpu) => vcpu)
  return { pageKib: null, nodes: [{ vcpus, memoryMb, hostNode: 0, pins: vcpus }] }
}
