import { type Static, Type } from 'typebox'
import { Uuid } from './scalars.ts'

/** A part of a host whose CPUs and memory are close to each other, taken or not. */
export const NumaNode = Type.Object({
  id: Type.Integer({ minimum: 0 }),
  cpus: Type.Integer({ minimum: 0 }),
  /** Of these, those set apart for guests that ask for CPUs of their own. */
  dedicatedCpus: Type.Integer({ minimum: 0 }),
  memoryMb: Type.Integer({ minimum: 0 }),
  /** How many large pages, by their size in KiB. */
  pages: Type.Record(Type.String(), Type.Integer({ minimum: 0 })),
})

/** The NUMA node of its host that each vCPU of a guest is on, in the order of the vCPUs. */
export const HostNodes = Type.Array(Type.Integer({ minimum: 0 }))

/** What a server holds of NUMA nodes of its host. */
export const NumaAllocation = Type.Object({
  vcpus: HostNodes,
  /** By node, and then by resource class. */
  resources: Type.Record(Type.String(), Type.Record(Type.String(), Type.Integer({ minimum: 0 }))),
})
export type NumaAllocation = Static<typeof NumaAllocation>

/** What a server holds of its host, by resource class, whether of one of its NUMA nodes or not. */
export const HeldAmounts = Type.Record(Type.String(), Type.Integer({ minimum: 0 }))
export type HeldAmounts = Static<typeof HeldAmounts>

/** What a consumer holds of one host. */
export const Holding = Type.Object({
  hostId: Uuid,
  resources: HeldAmounts,
  /** What of it is of NUMA nodes; absent: nothing. */
  numa: Type.Optional(NumaAllocation),
})
export type Holding = Static<typeof Holding>
