import { IN_CELLS } from './equivalent/cells.ts'
import { IN_COMMON } from './equivalent/common.ts'
import { IN_GATEWAY } from './equivalent/gateway.ts'

/** A mutant that no test can kill, because the program does the same with it. */
export interface Equivalent {
  readonly file: string
  /** The line as it stands in the file, without the spaces around it. */
  readonly line: string
  /** What the mutant puts in place of a part of the line. */
  readonly replacement: string
  readonly why: string
}

export const EQUIVALENT: readonly Equivalent[] = [...IN_CELLS, ...IN_COMMON, ...IN_GATEWAY]
