import { Failure } from '#common/errors.ts'

/** The change was decided on an older revision of the object than the present one. */
export class StaleRevision extends Failure {
  constructor(object: string) {
    super('conflict', `${object} changed meanwhile. Please try again.`)
  }
}
