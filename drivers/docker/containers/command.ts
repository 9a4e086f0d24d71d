import { Failure } from '#common/errors.ts'
import type { InstanceSpec } from '../../driver.ts'
import type { EngineImage } from '../images/engine-images.ts'

/** An image property: what the guest runs instead of what the image says, as a JSON list of words. */
const COMMAND = 'docker_command'
/** What runs in a root file system that says nothing of its own. */
const DEFAULT_COMMAND = ['/sbin/init']

/** What a guest runs; undefined for what its image says. Throws `invalid` for a property that is no list of words. */
export function commandOf(spec: InstanceSpec, image: EngineImage): readonly string[] | undefined {
  const asked = spec.image.properties[COMMAND]
  if (asked !== undefined) return words(asked, spec)
  const hasOwn = (image.Config?.Cmd ?? []).length > 0 || (image.Config?.Entrypoint ?? []).length > 0
  return hasOwn ? undefined : DEFAULT_COMMAND
}

function words(text: string, { image }: InstanceSpec): readonly string[] {
  try {
    const value: unknown = JSON.parse(text)
    if (Array.isArray(value) && value.length > 0 && value.every((w) => typeof w === 'string'))
      return value
  } catch {
    // Refused below, like every other value that is no list of words.
  }
  throw new Failure(
    'invalid',
    `Property ${COMMAND} of image ${image.id} must be a JSON list of words, such as ["/bin/sh"].`,
  )
}
