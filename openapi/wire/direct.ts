import type { Static } from 'typebox'
import { CONSOLE_OPERATIONS } from './console.ts'
import { LOOKUP_OPERATIONS } from './lookup.ts'
import { NODE_OPERATIONS } from './node.ts'

/** Requests of gateways to a compute directly, without its cell. */
export const DIRECT_OPERATIONS = {
  ...CONSOLE_OPERATIONS,
  ...NODE_OPERATIONS,
  ...LOOKUP_OPERATIONS,
} as const
export type DirectOperation = keyof typeof DIRECT_OPERATIONS
export type DirectAsk<O extends DirectOperation> = Static<(typeof DIRECT_OPERATIONS)[O]['ask']>
export type DirectAnswer<O extends DirectOperation> = Static<
  (typeof DIRECT_OPERATIONS)[O]['answer']
>
