import type { RunningCode } from './running-code.ts'

/** In the order of an upgrade: a gateway understands the cells of the former release, and a cell its hosts. */
export const KINDS = ['gateway', 'cell', 'compute'] as const
export type Kind = (typeof KINDS)[number]

/** A process that an upgrade replaces. */
export interface Part {
  /** As people know it: that of its log or of its unit. */
  readonly name: string
  readonly kind: Kind
  /** Undefined while it does not run. */
  code(): RunningCode | undefined
  /** Afterwards it runs this release, and is ready. Throws `unavailable` with the reason if it does not become ready. */
  replace(): Promise<void>
  /** Throws `unavailable` if it has ended since it became ready. */
  assertRuns(): Promise<void>
  /** Afterwards it runs what it ran before `replace`; false where that is not on this machine any more. */
  putBack(): Promise<boolean>
}

/** Gateways, cells, computes; on the way back computes come first. Parts of one kind stay in their order. */
export function inOrder(parts: readonly Part[], isBack: boolean): readonly Part[] {
  const kinds = isBack ? KINDS.toReversed() : KINDS
  return kinds.flatMap((kind) => parts.filter((part) => part.kind === kind))
}
