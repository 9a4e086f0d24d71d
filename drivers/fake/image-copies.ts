import type { ImageCopies } from '../image-copies.ts'
import type { FakeHost } from './host.ts'

export function fakeImageCopies(host: FakeHost): ImageCopies {
  return {
    find: ({ sha256 }, signal) =>
      host.faulty('imageCopies', undefined, signal, () => host.images.get(sha256)),
  }
}
