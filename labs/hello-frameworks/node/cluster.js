// The express application once for each CPU that may be used, and at least twice, so that there is
// a cluster to speak of: node cluster.js PORT
'use strict';

const cluster = require('node:cluster');
const os = require('node:os');

if (cluster.isPrimary) {
  const workers = Math.max(2, os.availableParallelism());
  for (let index = 0; index < workers; index += 1) {
    cluster.fork();
  }
} else {
  require('./express.js');
}
