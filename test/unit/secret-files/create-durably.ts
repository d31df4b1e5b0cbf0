/** Creates a file durably, in a process of its own, and sends the outcome. Its argument is the path. */
import { createDurably } from '../../../src/secret-files/durable-file.ts'

const [path = ''] = process.argv.slice(2)
process.send?.({ outcome: await createDurably(path, 'secret').then(() => 'created', String) })
