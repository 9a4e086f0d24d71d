import { Type } from 'typebox'

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
