import { type ErrorKind, Failure } from '#common/errors.ts'

/** A failure for which Placement has a code, which its clients look at. */
export class PlacementFailure extends Failure {
  readonly code: string

  constructor(kind: ErrorKind, code: string, message: string) {
    super(kind, message)
    this.code = code
  }
}
