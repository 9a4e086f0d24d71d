import { Failure } from '#common/errors.ts'
import { isOlder } from '../../api-version.ts'

/** The range of Engine API versions whose requests and answers the driver knows. */
const OLDEST = '1.41'
const NEWEST = '1.51'

/** The newest API version that both sides speak, from the engine's answer to `GET /version`. Throws `unsupported`. */
export function negotiate(versionAnswer: string): string {
  const { ApiVersion: newest = '', MinAPIVersion: oldest = '' } = parsed(versionAnswer)
  const agreed = isOlder(newest, NEWEST) ? newest : NEWEST
  if (isOlder(agreed, OLDEST) || isOlder(agreed, oldest))
    throw new Failure('unsupported', 'Weir does not support the version of the container engine.', {
      detail: `it speaks API ${oldest} to ${newest}; the driver speaks ${OLDEST} to ${NEWEST}`,
    })
  return agreed
}

function parsed(answer: string): { readonly ApiVersion?: string; readonly MinAPIVersion?: string } {
  try {
    return JSON.parse(answer) as { ApiVersion?: string; MinAPIVersion?: string }
  } catch (cause) {
    throw new Failure(
      'unavailable',
      'The server at the address of the container engine is not a container engine.',
      { cause },
    )
  }
}
