import { join, resolve } from 'node:path'
import { say } from '../cli/say.ts'
import { compiledDirectory } from '../paths.ts'
import { buildImage } from './build-image.ts'

const layout = resolve(process.argv[2] ?? 'dist/weir-image')
say(await buildImage(layout, join(compiledDirectory, 'image-libraries')))
